"""The kinds of health check: one folder for each, and the registry."""
