"""Answers the questions of people, by the state and the functions that answer incidents (ADR 62)."""
