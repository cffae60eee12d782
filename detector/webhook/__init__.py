"""The validating webhook, which is optional."""
