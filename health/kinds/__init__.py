"""The kinds of health check: a folder each, and the registry."""
