"""The detector's part for NodeHealthChecks: their context is the MachineHealthChecks of OpenShift."""

from collections.abc import Callable, Sequence

from detector.nodehealthcheck.node_series import NodeSeries, OngoingRemediations
from detector.nodehealthcheck.webhook import serve_webhook
from detector.state.cluster_state import ClusterState
from detector.watched_kind import KindMetrics, WatchedContext, WatchedKind
from health.kinds.nodehealthcheck.machine_health_checks import (
    OtherChecks,
    OtherMachineHealthCheck,
    machine_health_checks,
)
from kube.resource import Resource

MACHINE_HEALTH_CHECKS = Resource(
    "machine.openshift.io/v1beta1", "MachineHealthCheck", "machinehealthchecks", namespaced=True
)


def _metrics(cluster_state: ClusterState, is_leader: Callable[[], bool]) -> KindMetrics:
    series = NodeSeries(cluster_state)
    return KindMetrics((series, OngoingRemediations(cluster_state, is_leader)), (series,))


def _judge(found: Sequence[OtherMachineHealthCheck], unreadable: int) -> OtherChecks:
    return machine_health_checks(found, unreadable=unreadable)


WATCHED_NODE_HEALTH_CHECK = WatchedKind(
    cluster_context=WatchedContext(MACHINE_HEALTH_CHECKS, OtherMachineHealthCheck, _judge),
    metrics=_metrics,
    webhook=serve_webhook,
)
