"""May an incident act now: one table of rules, and what each of them is decided by."""
