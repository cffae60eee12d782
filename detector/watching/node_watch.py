"""NodeWatch: the Nodes of one cluster, through the connection to it, and until when that was blind.

What the conditions of Nodes said in a time in which nobody could read them, nobody judged. So where a
connection to another cluster that was lost is there again, the clocks of its Nodes, and of no others, restart
from there, as after an upgrade. Our own cluster needs no such rule: without it no check is read either.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from health.model.node import Node
from health.model.target import TargetName, node_name
from kube.connection import ClusterConnection
from kube.record import Change, Key
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings
from kube.resource import NODES


class NodeWatch:
    """The Nodes of one cluster."""

    def __init__(
        self,
        connection: ClusterConnection,
        notify: Callable[[TargetName, Node | None], None],
        undecodable: Callable[[TargetName, str], None],
        reflectors: CurrentSettings,
    ) -> None:
        self.cluster = connection.cluster
        self._clock = connection.server_clock
        self._notify = notify
        self._undecodable = undecodable
        self.source = Reflector(
            connection.transport,
            NODES,
            Node,
            notify=self._changed,
            on_broken=self._broken,
            settings=reflectors,
            cluster=connection.cluster,
        )
        self._proven: float | None = None
        self._blind_until: datetime | None = None

    @property
    def blind_until(self) -> datetime | None:
        """The end of the last time in which the connection was lost, by the clock of its API server."""
        return self._blind_until

    def look(self, limit: timedelta) -> None:
        """Note whether the cache grew older than `limit`, and is true again; look more often than that."""
        age = self.source.age()
        if age is None:
            return
        before, self._proven = self._proven, self._clock.monotonic() - age.total_seconds()
        if before is not None and self._proven - before > limit.total_seconds():
            self._blind_until = self._clock.now() - age

    def _changed(self, change: Change[Node]) -> None:
        self._notify(node_name(change.key.name, self.cluster), change.new)

    def _broken(self, key: Key, problem: str) -> None:
        self._undecodable(node_name(key.name, self.cluster), problem)
