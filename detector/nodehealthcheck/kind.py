"""The detector's part for NodeHealthChecks: their context is the MachineHealthChecks of OpenShift.

The metrics are the NodeHealthCheck operator's counter and histogram of each node (NHC 1.6).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from detector.nodehealthcheck.webhook import serve_webhook
from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from detector.state.target_store import place_of
from detector.watched_kind import KindMetrics, WatchedContext, WatchedKind
from health.kinds.nodehealthcheck.disabled import OtherMachineHealthCheck, machine_health_checks
from health.model.target import TargetPlace
from kube.resource import Resource
from runtime.exposition import CounterWithoutSuffix

MACHINE_HEALTH_CHECKS = Resource(
    "machine.openshift.io/v1beta1", "MachineHealthCheck", "machinehealthchecks", namespaced=True
)
DURATIONS = "nodehealthcheck_unhealthy_node_duration_seconds"
OLD_REQUESTS = "nodehealthcheck_old_remediation_cr"
NODES = TargetPlace("Node", "")
BOUNDS = (30, 60, 120, 180, 240, 300, 600, 1200, 2400, 3600)


class Buckets:
    """A histogram: the counts of observed values up to each bound."""

    def __init__(self, bounds: Sequence[int]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count `value` in the first bucket that holds it; a bound is inclusive."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    @property
    def cumulative(self) -> list[tuple[str, float]]:
        """Each bound, and how many values were not above it."""
        return list(zip((*map(str, self._bounds), "+Inf"), accumulate(self._counts), strict=True))


@dataclass
class _Node:
    uid: str
    durations: dict[tuple[str, str], Buckets] = field(default_factory=dict)
    """By namespace and kind of request."""
    old_requests: int = 0


def is_of_a_node(request: SeenRequest) -> bool:
    """True if the owner of the request is a check of Nodes."""
    return request.owner is not None and place_of(request.owner) == NODES


class NodeSeries(Collector):
    """The series of all existing Nodes that ever had a request.

    A series ends with its object (rule 16): when the Node with that uid, and the last request for it, are
    gone. A new Node of the same name starts at zero. Bounds are written as the Go client writes them:
    le="30", not le="30.0".
    """

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._nodes: dict[str, _Node] = {}

    def request_ended(self, request: SeenRequest, now: datetime) -> None:
        """Observe how long a request for a Node existed; the request is gone now."""
        if not is_of_a_node(request):
            return
        key = (request.reference.namespace, request.reference.kind)
        durations = self._of(request).durations
        lasted = now - request.request.metadata.creation_timestamp
        durations.setdefault(key, Buckets(BOUNDS)).observe(max(0.0, lasted.total_seconds()))
        self._nodes = self._there()

    def request_grew_old(self, request: SeenRequest) -> None:
        """Count the 48 h alert on a request."""
        if is_of_a_node(request):
            self._of(request).old_requests += 1

    def collect(self) -> Iterator[Metric]:
        """Return the series of Nodes that still exist."""
        text = "How long a remediation request for an unhealthy node was there."
        durations = HistogramMetricFamily(DURATIONS, text, labels=("name", "namespace", "remediation"))
        text = "Remediation requests that were there for over 48 hours."
        old_requests = CounterWithoutSuffix(OLD_REQUESTS, text)
        for name, node in self._there().items():
            for labels, buckets in node.durations.items():
                durations.add_metric((name, *labels), buckets.cumulative, buckets.sum)
            if node.old_requests:
                # As in the NodeHealthCheck operator: the namespace of the node, which has none.
                old_requests.add({"name": name, "namespace": ""}, node.old_requests)
        yield durations
        yield old_requests

    def _of(self, request: SeenRequest) -> _Node:
        name = request.request.target_name
        node = self._cluster_state.targets.at(NODES).get(name)
        uid = request.request.target_uid or (node.metadata.uid if node else "")
        series = self._nodes.get(name)
        if series is None or series.uid != uid:
            series = self._nodes[name] = _Node(uid)
        return series

    def _there(self) -> dict[str, _Node]:
        """The Nodes that exist with the uid of their series, or have a request for that object."""
        there, seen = {}, self._cluster_state.targets.at(NODES)
        for name, series in self._nodes.items():
            node, requests = seen.get(name), self._cluster_state.requests.for_target(name)
            is_there = node is not None and node.metadata.uid == series.uid
            if is_there or any(entry.request.target_uid in ("", series.uid) for entry in requests):
                there[name] = series
        return there


class OngoingRemediations(Collector):
    """The Nodes that have requests now; only the leader exports metrics of the cluster."""

    def __init__(self, cluster_state: ClusterState, is_leader: Callable[[], bool]) -> None:
        self._cluster_state = cluster_state
        self._is_leader = is_leader

    def collect(self) -> Iterator[Metric]:
        """Return a sample for each Node and kind of request."""
        if not self._is_leader():
            return
        family = GaugeMetricFamily(
            "nodehealthcheck_ongoing_remediation",
            "1 while a remediation request of a check exists for the node.",
            labels=("name", "namespace", "remediation"),
        )
        found = {
            (entry.request.target_name, entry.reference.namespace, entry.reference.kind)
            for entry in self._cluster_state.requests.all()
            if is_of_a_node(entry)
        }
        for labels in sorted(found):
            family.add_metric(labels, 1)
        yield family


def _metrics(cluster_state: ClusterState, is_leader: Callable[[], bool]) -> KindMetrics:
    series = NodeSeries(cluster_state)
    return KindMetrics((series, OngoingRemediations(cluster_state, is_leader)), (series,))


WATCHED_NODE_HEALTH_CHECK = WatchedKind(
    cluster_context=WatchedContext(
        MACHINE_HEALTH_CHECKS,
        OtherMachineHealthCheck,
        lambda found, unreadable: machine_health_checks(found, unreadable=unreadable),
    ),
    metrics=_metrics,
    webhook=serve_webhook,
)
