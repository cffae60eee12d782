"""How long 5,000 Machines of a workload cluster stop the event loop: cases of `python -m bench bounds`."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from bench.workers import unknown_node
from detector.registry import WATCHED_KINDS
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.cluster import CHECK as CHECK_KIND
from health.kinds.clusterapi.cluster import (
    CONTROL_PLANE_INITIALIZED,
    INFRASTRUCTURE_READY,
    Cluster,
    judge,
    workload_cluster,
)
from health.kinds.clusterapi.group import CLUSTER_NAME
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as KIND
from health.kinds.clusterapi.machine import Machine
from health.model.node import Node
from health.model.references import CheckReference
from health.model.target import node_name
from kube.record import Key
from objects.timestamps import stamp

_TARGETS = 5_000
_CREATED = datetime(2026, 1, 1, tzinfo=UTC)
_NAMESPACE, _CLUSTER = "fleet", "edge"
_WORKLOAD = workload_cluster(_NAMESPACE, _CLUSTER)
_CHECK = CheckReference(kind=KIND.kind, group=KIND.group, namespace=_NAMESPACE, name="workers")
_LABELS = {CLUSTER_NAME: _CLUSTER}

Work = Callable[[], Awaitable[object]]


def _nodes_of_machines() -> Work:
    """The Nodes of a workload cluster are read after its Machines and its check."""
    state = ClusterState("bench")
    clusters = judge([Cluster.model_validate(_cluster_object())])
    state.take_context(ClusterContext(of_kinds={CHECK_KIND: clusters}))
    watched = WATCHED_KINDS[KIND.group_kind].targets
    assert watched is not None
    join = watched.join(state)
    state.check_changed(KIND, _CHECK, CheckRecord.model_validate(_check_object()))
    for number in range(_TARGETS):
        name = f"machine-{number}"
        join.target_changed(Key(_NAMESPACE, name), Machine.model_validate(_machine_object(name)))
        node = Node.model_validate(unknown_node(name, _CREATED, _CREATED))
        join.node_changed(node_name(name, _WORKLOAD), node)

    async def work() -> None:
        join.cluster_read(_WORKLOAD)
        await join.update_targets(_WORKLOAD)
        assert len(state.checks[_CHECK].unhealthy) == _TARGETS

    return work


def _cluster_object() -> dict[str, object]:
    """A Cluster with both conditions that gate verdicts of its Machines."""
    conditions = [
        {"type": name, "status": "True", "lastTransitionTime": stamp(_CREATED)}
        for name in (CONTROL_PLANE_INITIALIZED, INFRASTRUCTURE_READY)
    ]
    metadata = {"name": _CLUSTER, "namespace": _NAMESPACE, "uid": "u"}
    return {"metadata": metadata, "status": {"conditions": conditions}}


def _check_object() -> dict[str, object]:
    condition = {"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {
            "name": _CHECK.name,
            "namespace": _NAMESPACE,
            "uid": "u",
            "generation": 1,
            "creationTimestamp": stamp(_CREATED),
        },
        "spec": {
            "clusterName": _CLUSTER,
            "selector": {"matchLabels": _LABELS},
            "checks": {"unhealthyNodeConditions": [condition]},
        },
    }


def _machine_object(name: str) -> dict[str, object]:
    """A Machine that is linked to the Node of its name."""
    metadata = {
        "name": name,
        "namespace": _NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "creationTimestamp": stamp(_CREATED),
        "labels": _LABELS,
    }
    return {"metadata": metadata, "spec": {"clusterName": _CLUSTER}, "status": {"nodeRef": {"name": name}}}


CASES: dict[str, Callable[[], Work]] = {"Nodes of 5,000 Machines are read": _nodes_of_machines}
