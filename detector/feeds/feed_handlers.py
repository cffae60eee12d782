"""FeedHandlers: the handlers of what the feeds read, as the event handlers of an informer."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Protocol

from health.model.node import Node
from health.model.target import TargetName


class NodeHandler(Protocol):
    """Called on changes of Nodes, and of clusters with Nodes."""

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        """A Node was added, changed or (None) deleted."""

    def decoding_changed(self, name: TargetName, problem: str) -> None:
        """A Node does not decode, because of `problem`; with "" it decodes again, or is gone."""

    def node_unmoved(self, name: TargetName, types: Collection[str], at: datetime) -> None:
        """A loss of the connection that ended at `at` did not change these conditions at all."""

    def cluster_read(self, cluster: str) -> None:
        """The Nodes of a workload cluster were read completely."""

    def cluster_forgotten(self, cluster: str) -> None:
        """The Nodes of a workload cluster are no longer watched."""

    async def update_targets(self, cluster: str) -> None:
        """Make the targets of a workload cluster anew, after it was read or forgotten."""


class FeedHandlers:
    """The handlers of the feeds of one detector."""

    nodes: NodeHandler
    _context_changed: Callable[[], None]

    def connect(self, nodes: NodeHandler, context_changed: Callable[[], None]) -> None:
        """Set the handlers, which need the feeds themselves; call it before the feeds run."""
        self.nodes = nodes
        self._context_changed = context_changed

    def context_changed(self) -> None:
        """Call it when an object changes that the cluster context is made of, and every second."""
        self._context_changed()
