"""NodeCallbacks: the handlers of a watch of Nodes that a test runs alone."""

from collections.abc import Awaitable, Callable, Collection
from datetime import datetime

from detector.feeds.feed_handlers import FeedHandlers
from health.model.node import Node
from health.model.target import TargetName


async def _nothing_to_update(_: str) -> None:
    """Do nothing, as these clusters have no Machines."""


class NodeCallbacks(FeedHandlers):
    """Calls these functions of a test; other changes are no matter to it."""

    def __init__(
        self,
        changed: Callable[[TargetName, Node | None], None] = lambda *_: None,
        undecodable: Callable[[TargetName, str], None] = lambda *_: None,
        read: Callable[[str], None] = lambda _: None,
        forgotten: Callable[[str], None] = lambda _: None,
        update_targets: Callable[[str], Awaitable[None]] = _nothing_to_update,
    ) -> None:
        self.connect(self, lambda: None)
        self._changed = changed
        self._undecodable = undecodable
        self._read = read
        self._forgotten = forgotten
        self._update_targets = update_targets

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        self._changed(name, node)

    def decoding_changed(self, name: TargetName, problem: str) -> None:
        self._undecodable(name, problem)

    def node_unmoved(self, name: TargetName, types: Collection[str], at: datetime) -> None:
        """Do nothing, as no test of a watch alone looks at it."""

    def cluster_read(self, cluster: str) -> None:
        self._read(cluster)

    def cluster_forgotten(self, cluster: str) -> None:
        self._forgotten(cluster)

    async def update_targets(self, cluster: str) -> None:
        await self._update_targets(cluster)
