"""NodeWatch: the Nodes of one cluster, through the connection to it, and until when that was blind.

What the conditions of Nodes said in a time in which nobody could read them, nobody judged. So where a
connection to another cluster that was lost is there again, the clocks of its Nodes, and of no others, restart
from there, as after an upgrade. Our own cluster needs no such rule: without it no check is read either.
`BlindTimes` keeps what a new process must know of that.
"""

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from health.model.node import Node
from health.model.target import TargetName, node_name
from kube.connection import ClusterConnection
from kube.record import Change, Key
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings
from kube.resource import NODES
from objects.frozen import Frozen


class BlindTime(Frozen):
    """What is known of lost connections to one cluster."""

    until: datetime | None = None
    """The end of the last time in which it was lost, by the clock of its API server."""
    is_lost: bool = False
    """Whether it is lost now."""


LOST = BlindTime(is_lost=True)


class NodeWatch:
    """The Nodes of one cluster."""

    def __init__(
        self,
        connection: ClusterConnection,
        notify: Callable[[TargetName, Node | None], None],
        notify_undecodable: Callable[[TargetName, str], None],
        reflectors: CurrentSettings,
    ) -> None:
        self.cluster = connection.cluster
        self._clock = connection.server_clock
        self._notify = notify
        self._notify_undecodable = notify_undecodable
        self.source = Reflector(
            connection.transport,
            NODES,
            Node,
            notify=self._changed,
            on_undecodable=self._undecodable,
            settings=reflectors,
            cluster=connection.cluster,
        )
        self._proven: float | None = None
        self.blind_time = BlindTime()
        """As of the last look."""

    def resume(self, noted: BlindTime) -> None:
        """Go on from what an earlier process noted; before the first look."""
        self.blind_time = noted
        self._proven = -math.inf if noted.is_lost else None

    def has_returned(self, limit: timedelta) -> bool:
        """Whether the cache is true again after it grew older than `limit`, which no look has noted yet."""
        age = self.source.age()
        return age is not None and self._was_lost(age, limit)

    def look(self, limit: timedelta) -> None:
        """Note whether the cache grew older than `limit`, and is true again; look more often than that."""
        age = self.source.age()
        if age is None:
            return
        until = self._clock.now() - age if self._was_lost(age, limit) else self.blind_time.until
        self._proven = self._proven_at(age)
        self.blind_time = BlindTime(until=until, is_lost=age > limit)

    def _was_lost(self, age: timedelta, limit: timedelta) -> bool:
        return self._proven is not None and self._proven_at(age) - self._proven > limit.total_seconds()

    def _proven_at(self, age: timedelta) -> float:
        return self._clock.monotonic() - age.total_seconds()

    def _changed(self, change: Change[Node]) -> None:
        self._notify(node_name(change.key.name, self.cluster), change.new)

    def _undecodable(self, key: Key, problem: str) -> None:
        self._notify_undecodable(node_name(key.name, self.cluster), problem)
