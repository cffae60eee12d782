"""FeedHandlers: the handlers of what the feeds read.

They are added before the feeds run, as the event handlers of an informer are.
"""

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
    """The handlers of the feeds of one detector, called in the order in which they were added."""

    def __init__(self) -> None:
        self._of_nodes: list[NodeHandler] = []
        self._of_context: list[Callable[[], None]] = []

    def add_node_handler(self, handler: NodeHandler) -> None:
        self._of_nodes.append(handler)

    def add_context_handler(self, handler: Callable[[], None]) -> None:
        """Call `handler` when an object changes that the cluster context is made of, and every second."""
        self._of_context.append(handler)

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        for handler in self._of_nodes:
            handler.node_changed(name, node)

    def decoding_changed(self, name: TargetName, problem: str) -> None:
        for handler in self._of_nodes:
            handler.decoding_changed(name, problem)

    def node_unmoved(self, name: TargetName, types: Collection[str], at: datetime) -> None:
        for handler in self._of_nodes:
            handler.node_unmoved(name, types, at)

    def cluster_read(self, cluster: str) -> None:
        for handler in self._of_nodes:
            handler.cluster_read(cluster)

    def cluster_forgotten(self, cluster: str) -> None:
        for handler in self._of_nodes:
            handler.cluster_forgotten(cluster)

    async def update_targets(self, cluster: str) -> None:
        for handler in self._of_nodes:
            await handler.update_targets(cluster)

    def context_changed(self) -> None:
        for handler in self._of_context:
            handler()
