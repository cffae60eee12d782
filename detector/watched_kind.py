"""WatchedKind: what the detector does for one kind of check, and for no other; the registry has one of each.

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
from health.gate.template_validity import Template
from health.model.node import Node
from health.model.target import TargetName
from kube.record import Key, Record
from kube.resource import Resource
from objects.group_kind import ServedKind
from runtime.connections import Connections
from runtime.settings import Settings


class TargetJoin(Protocol):
    """Makes targets of objects and their Nodes, and puts them into the state of the cluster."""

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        """A Node came, changed or (None) went."""

    def node_decoding_changed(self, name: TargetName) -> None:
        """A Node that exists stopped to decode, or one that did not decodes again or went."""

    def cluster_read(self, cluster: str) -> None:
        """The Nodes of a workload cluster were read completely."""

    def cluster_forgotten(self, cluster: str) -> None:
        """Nobody looks for the Nodes of a workload cluster any more."""

    def target_changed(self, key: Key, record: Any | None) -> None:  # noqa: ANN401  of the type that the kind reads
        """An object came, changed or (None) went."""


class WatchedTargets(NamedTuple):
    """How targets that are no Nodes are watched."""

    record: type[Record]
    join: Callable[[ClusterState], TargetJoin]


class WatchedContext(NamedTuple):
    """The context of all checks of this kind, which matter to no other."""

    resource: Resource | ServedKind
    record: type[Record]
    judge: Callable[[Sequence[Any], int], object]
    """What they come to (`ClusterContext.of_kinds`), by those that can be read and the number of others."""
    gates_verdicts: bool = False
    """Whether it says what is unhealthy, and not only whether anything may be done about it."""


class RequestSeries(Protocol):
    """Metrics of requests."""

    def request_ended(self, request: SeenRequest, now: datetime) -> None:
        """Note that a request is gone."""

    def request_grew_old(self, request: SeenRequest) -> None:
        """Note that the 48 h alert was raised for a request."""


class KindMetrics(NamedTuple):
    """What Prometheus is shown of checks of one kind."""

    collectors: tuple[Collector, ...]
    requests: tuple[RequestSeries, ...] = ()


class WatchedTemplates(Protocol):
    """The templates that are watched."""

    def __call__(self, kind: tuple[str, str]) -> Collection[Template] | None:
        """All of a kind; None where they are not watched, or not well enough to answer."""


Webhook: TypeAlias = Callable[[Settings, Connections, WatchedTemplates], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, kw_only=True)
class WatchedKind:
    """The entry of one kind."""

    targets: WatchedTargets | None = None
    """None: its targets are Nodes."""
    cluster_context: WatchedContext | None = None
    metrics: Callable[[ClusterState, Callable[[], bool]], KindMetrics] = lambda *_: KindMetrics(())
    """Of the state of the cluster, while this detector leads."""
    webhook: Webhook | None = None
    """Serves for the time of its block, where the settings say so."""
