"""How clusters are told apart by whatever is keyed by cluster and name."""

MANAGEMENT_CLUSTER = ""
"""The one that checks, targets, requests and Leases are in; it needs no name to be told from others."""
