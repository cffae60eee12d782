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
from detector.state.machine_join import MachineJoin
from detector.state.request_index import SeenRequest
from health.check.template_validity import Template
from kube.record import Record
from kube.resource import Resource
from objects.group_kind import ServedKind
from runtime.connections import Connections
from runtime.settings import Settings


class WatchedTargets(NamedTuple):
    """How to watch targets that are not Nodes."""

    record: type[Record]
    join: Callable[[ClusterState], MachineJoin]
    """It makes targets of the objects and their Nodes, and puts them into the cluster state."""


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
