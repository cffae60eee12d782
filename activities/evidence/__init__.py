"""Evidence: reads and saves the state of a target before its first step."""
