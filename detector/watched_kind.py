"""WatchedKind: the detector's part for one kind of check; the registry has one for each kind.

Checks, Nodes, Leases, templates and requests are watched for all kinds alike.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeAlias

from prometheus_client.registry import Collector

from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from health.check.template_validity import Template
from health.model.node import Node
from health.model.sighting import Look
from health.model.target import TargetName
from health.model.verdict import CountedFact
from kube.record import Key, Record
from kube.resource import Resource
from objects.group_kind import ServedKind
from runtime.connections import Connections
from runtime.settings import Settings


class TargetJoin(Protocol):
    """Makes targets of objects and their Nodes, and puts them into the cluster state."""

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        """A Node was added, changed or (None) deleted."""

    def node_decoding_changed(self, name: TargetName) -> None:
        """A Node stopped decoding, decodes again, or is gone."""

    def cluster_read(self, cluster: str) -> None:
        """The Nodes of a workload cluster were read completely: from now on a Node may be missing."""

    def cluster_forgotten(self, cluster: str) -> None:
        """The Nodes of a workload cluster are no longer watched: from now on none is missing."""

    async def update_targets(self, cluster: str) -> None:
        """Make the targets of a workload cluster anew, after it was read or forgotten."""

    def target_changed(self, key: Key, record: Any | None, look: Look | None = None) -> None:  # noqa: ANN401  of the type that the kind reads
        """An object was added, changed or (None) deleted, as seen by this look."""

    def count_on(self, name: TargetName, counted: CountedFact) -> None:
        """Count a failure of an object, and not of its Node, as its incident counted it."""


class WatchedTargets(NamedTuple):
    """How to watch targets that are not Nodes."""

    record: type[Record]
    join: Callable[[ClusterState], TargetJoin]


class WatchedContext(NamedTuple):
    """The context of all checks of this kind, and of no other kind."""

    resource: Resource | ServedKind
    record: type[Record]
    judge: Callable[[Sequence[Any], int], object]
    """Returns the value in `ClusterContext.of_kinds`, by decodable objects and the number of others."""
    gates_verdicts: bool = False
    """Whether it decides which targets are unhealthy, and not only whether to act."""


class RequestSeries(Protocol):
    """Metrics that are counted by the end and age of requests."""

    def request_ended(self, request: SeenRequest, now: datetime) -> None:
        """Called when a remediation request is gone, with its last state."""

    def request_grew_old(self, request: SeenRequest) -> None:
        """Called when the 48 h alert was raised for a request."""


class KindMetrics(NamedTuple):
    """Prometheus metrics about checks of one kind."""

    collectors: tuple[Collector, ...]
    requests: tuple[RequestSeries, ...] = ()


class WatchedTemplates(Protocol):
    """The templates of a kind that the detector watches."""

    def __call__(self, kind: tuple[str, str]) -> Collection[Template] | None:
        """All templates of a kind; None if they are not watched, or the watch is stale."""


Webhook: TypeAlias = Callable[[Settings, Connections, WatchedTemplates], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, kw_only=True)
class WatchedKind:
    """The detector's part for one kind of check."""

    targets: WatchedTargets | None = None
    """None: the targets are Nodes."""
    cluster_context: WatchedContext | None = None
    metrics: Callable[[ClusterState, Callable[[], bool]], KindMetrics] = lambda *_: KindMetrics(())
    """By the cluster state, and whether this detector is the leader."""
    webhook: Webhook | None = None
    """Serves during its block, if the settings have an address."""
