"""OwnNodes: the Nodes of the management cluster, which are read through the one connection of the process."""

from collections.abc import Callable

from detector.feeds.node_watch import NodeWatch
from detector.feeds.source import Source
from kube.connection import ClusterConnection


class OwnNodes:
    """The watch of the Nodes of the management cluster, and whether handlers know each Node."""

    def __init__(self, watch: NodeWatch, connection: ClusterConnection, changed: Callable[[], None]) -> None:
        """`changed` is called when handlers were notified of each existing Node."""
        self.watch = watch
        self.source: Source = watch.connect(connection)
        self._changed = changed
        self.were_notified = False
        """True once handlers were notified of each Node: during the first list, Nodes seem to be missing."""

    async def wait_notified(self) -> None:
        """Return when handlers were notified of each existing Node."""
        await self.watch.wait_read()
        self.were_notified = True
        self._changed()
