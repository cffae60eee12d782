"""What our processes asked of the API server, as its audit log tells."""

import json
from datetime import datetime

from bench.cluster import BenchCluster

OURS = "system:serviceaccount:paramedic-system:"
WRITES = ("create", "update", "patch", "delete")
LEADER_LEASE = "paramedic-detector"


def writes_since(cluster: BenchCluster, since: datetime) -> int:
    """How often they wrote since then, but for the leader's Lease."""
    count = 0
    for line in cluster.audit_log.read_text().splitlines():
        event = json.loads(line)
        is_ours = event["user"]["username"].startswith(OURS) and event["verb"] in WRITES
        is_late = datetime.fromisoformat(event["requestReceivedTimestamp"]) > since
        count += is_ours and is_late and event.get("objectRef", {}).get("name") != LEADER_LEASE
    return count
