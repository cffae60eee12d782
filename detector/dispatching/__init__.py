"""Starts and wakes incidents: compares those that should be open with those that are."""
