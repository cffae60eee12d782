"""What is written for people: the status of each check, and Events."""
