"""May an incident act now: one table of rules, and the facts that each rule uses."""
