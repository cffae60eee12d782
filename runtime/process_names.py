"""The names of our processes in a cluster: ServiceAccounts, field managers, and the leader Lease."""

from health.kinds.right import Process

NAMESPACE = "paramedic-system"
"""The namespace of our processes in `deploy/`."""
DETECTOR = "paramedic-detector"
WORKER = "paramedic-worker"
SERVICE_ACCOUNTS = {Process.DETECTOR: DETECTOR, Process.WORKER: WORKER}
LEADER_LEASE = DETECTOR
"""The holder of this Lease is the leading detector."""
