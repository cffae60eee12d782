"""Decides whether an incident may act now: one table of rules, and the answers it gives."""
