"""LinkedNodes: the Nodes that Machines are linked to and that therefore should exist.

A Machine expects its Node until the Machine is being deleted. Machines of several APIs may expect one Node.
"""

from collections import defaultdict
from collections.abc import Callable

from health.model.target import TargetName

Handler = Callable[[TargetName, bool], None]
"""Called with a Node and whether it is expected now."""


class LinkedNodes:
    """The Nodes that Machines expect to exist."""

    def __init__(self) -> None:
        self._node_of: dict[TargetName, TargetName] = {}
        self._machines_of: defaultdict[TargetName, set[TargetName]] = defaultdict(set)
        self._handlers: list[Handler] = []

    def add_handler(self, handler: Handler) -> None:
        """Call `handler` at once on each change from now on."""
        self._handlers.append(handler)

    def link(self, machine: TargetName, node: TargetName | None) -> None:
        """Record the Node that a Machine expects; None for no Node."""
        before = self._node_of.pop(machine, None)
        if node is not None:
            self._node_of[machine] = node
        if before == node:
            return
        if before is not None:
            self._unlink(machine, before)
        if node is not None:
            self._machines_of[node].add(machine)
            if len(self._machines_of[node]) == 1:
                self._notify(node, is_expected=True)

    def _unlink(self, machine: TargetName, node: TargetName) -> None:
        self._machines_of[node].discard(machine)
        if not self._machines_of[node]:
            del self._machines_of[node]
            self._notify(node, is_expected=False)

    def _notify(self, node: TargetName, *, is_expected: bool) -> None:
        for handler in self._handlers:
            handler(node, is_expected)
