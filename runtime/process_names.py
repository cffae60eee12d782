"""Names by which a cluster knows our two processes: ServiceAccounts, field managers, and the leader Lease."""

DETECTOR = "paramedic-detector"
WORKER = "paramedic-worker"
LEADER_LEASE = DETECTOR
"""Whose holder is the detector that leads."""
