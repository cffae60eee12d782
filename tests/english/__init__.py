"""Docstrings, comments and pages are in plain English (CONTRIBUTING.md, "How we write")."""
