"""Evidence: what is true of a target is read and saved before its first step."""
