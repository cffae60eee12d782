"""Generates the roles of `deploy/` and docs/rights.md from the table of rights."""
