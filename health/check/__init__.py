"""A health check of any kind: its protocol, threshold, selector, templates, and its snapshot."""
