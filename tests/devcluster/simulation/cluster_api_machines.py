"""Machines of Cluster API as an API server would show them."""

from datetime import UTC, datetime, timedelta

from devcluster.simulation.cluster_api_machine import FINALIZER, REMEDIATE, ClusterApiMachine
from health.model.node import Node

CREATED = datetime(2026, 1, 2, 3, 0, 0, tzinfo=UTC)
SINCE = "2026-01-02T03:04:05Z"


def condition(type_: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    said = {"type": type_, "status": status, "lastTransitionTime": SINCE}
    return said | {"reason": reason, "message": message}


def machine(  # noqa: PLR0913  a Machine has these parts
    name: str = "workers-abcde",
    *,
    conditions: tuple[dict[str, str], ...] = (),
    phase: str = "Running",
    node: str = "",
    is_asked_for: bool = False,
    is_deleted: bool = False,
    age: timedelta = timedelta(),
) -> ClusterApiMachine:
    metadata = {
        "name": name,
        "namespace": "machines",
        "uid": f"{name.encode().hex()[-8:]}-1234",
        "resourceVersion": "7",
        "creationTimestamp": (CREATED - age).isoformat(),
        "deletionTimestamp": CREATED.isoformat() if is_deleted else None,
        "finalizers": [FINALIZER],
        "annotations": {REMEDIATE: ""} if is_asked_for else {},
    }
    status = {"phase": phase, "nodeRef": {"name": node} if node else None, "conditions": conditions}
    spec = {"providerID": "simulated://x"}
    return ClusterApiMachine.model_validate({"metadata": metadata, "spec": spec, "status": status})


def node_of(of: ClusterApiMachine) -> Node:
    metadata = {"name": of.node_name, "uid": "uid-of-the-node", "creationTimestamp": CREATED.isoformat()}
    return Node.model_validate({"metadata": metadata})
