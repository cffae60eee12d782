"""The Lease by which a kubelet says that it lives, in namespace kube-node-lease."""

from datetime import datetime, timedelta
from typing import Any

from kube.timestamps import micro_time

NAMESPACE = "kube-node-lease"
DURATION = timedelta(seconds=40)


def lease(node_name: str, node_uid: str, now: datetime) -> dict[str, Any]:
    """Build the Lease of a node; it goes with its Node."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": node_name,
            "namespace": NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": node_uid}],
        },
        "spec": {
            "holderIdentity": node_name,
            "leaseDurationSeconds": int(DURATION.total_seconds()),
            "renewTime": micro_time(now),
        },
    }


def renewal(now: datetime) -> dict[str, Any]:
    """Build the merge patch that renews a Lease."""
    return {"spec": {"renewTime": micro_time(now)}}
