"""Remembers ended remediations, for back-off."""
