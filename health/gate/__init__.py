"""Decides whether an incident may act now: the ordered rows of holds, and the answers."""
