"""Answers questions of people by the functions that answer incidents, in a process that never leads."""
