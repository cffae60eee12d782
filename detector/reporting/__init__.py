"""Reports to people: the status of checks and their targets, and Events."""
