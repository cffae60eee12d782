"""Names by which a cluster knows our two processes: ServiceAccounts, field managers, and the leader Lease."""

from health.kinds.right import Process

NAMESPACE = "paramedic-system"
"""Where `deploy/` puts them."""
DETECTOR = "paramedic-detector"
WORKER = "paramedic-worker"
SERVICE_ACCOUNTS = {Process.DETECTOR: DETECTOR, Process.WORKER: WORKER}
LEADER_LEASE = DETECTOR
"""Whose holder is the detector that leads."""
CLUSTER_ANNOTATION = "paramedic.dev/cluster"
"""On that Lease: the identity of the cluster that the detector is configured with."""
