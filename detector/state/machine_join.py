"""MachineJoin: makes one target of each Machine and its Node, and updates it when either changes.

Two Machines may be linked to one Node; it counts for both. A Node is unread until the Nodes of its cluster
are read, and also while it exists but does not decode: its conditions are then unknown, and it is not gone.

A workload cluster may have thousands of Machines, and its own API server decides when it is read again. So a
change of the whole cluster updates its Machines in pieces that yield to the event loop.
"""

from collections import defaultdict
from typing import Any, Protocol

from detector.state.cluster_state import ClusterState
from health.model.node import Node
from health.model.sighting import Look, Sighted
from health.model.target import Target, TargetName, node_name
from health.model.verdict import OF_MACHINE, CountedFact
from kube.record import Key
from kube.time_slice import TimeSlice
from objects.clusters import MANAGEMENT_CLUSTER


class MachineLike(Sighted, Protocol):
    """A Machine of any kind, by its link to a Node."""

    @property
    def node_name(self) -> str:
        """The Node that it is linked to; "" without one."""

    @property
    def node_cluster(self) -> str:
        """The cluster that has this Node, or would have it."""

    @property
    def is_going(self) -> bool:
        """True if the Machine has a deletion timestamp."""

    @property
    def is_instance_gone(self) -> bool:
        """True if its provider says that the instance is gone, or has failed for good."""


class MakeTarget(Protocol):
    """Makes a target of a Machine and its Node."""

    def __call__(self, machine: Any, node: Node | None, *, is_read: bool) -> Target:  # noqa: ANN401  of the type that the kind reads
        """`is_read`: whether the Node is known, so that `node=None` means that it does not exist."""


class MachineJoin:
    """The Machines of one API in the management cluster."""

    def __init__(
        self,
        cluster_state: ClusterState,
        kind_name: str,
        target: MakeTarget,
    ) -> None:
        self._cluster_state = cluster_state
        self._kind_name = kind_name
        self._target = target
        self._machines: dict[Key, MachineLike] = {}
        self._linked: defaultdict[TargetName, set[Key]] = defaultdict(set)
        """Keys of Machines by the name of their Node, whether the Node exists or not."""
        self._read = {MANAGEMENT_CLUSTER}
        """The clusters whose Nodes were read completely."""

    def node_changed(self, name: TargetName) -> None:
        """Update the Machines of a Node that changed in the state, or stopped decoding or decodes again."""
        for key in tuple(self._linked.get(name, ())):
            self._put(key)

    def cluster_read(self, cluster: str) -> None:
        """The Nodes of a workload cluster were read completely: from now on a Node may be missing."""
        self._read.add(cluster)

    def cluster_forgotten(self, cluster: str) -> None:
        """The Nodes of a workload cluster are no longer watched: from now on none is missing."""
        self._read.discard(cluster)

    async def update_targets(self, cluster: str) -> None:
        """Make the targets of a workload cluster anew, after it was read or forgotten."""
        time_slice = TimeSlice()
        for key in [key for key, machine in self._machines.items() if machine.node_cluster == cluster]:
            with self._cluster_state.guard.item("machines", key):
                self._put(key)
            await time_slice.yield_if_over()

    def target_changed(self, key: Key, machine: MachineLike | None, look: Look | None = None) -> None:
        """A Machine was added, changed or (None) deleted, as seen by this look."""
        before = self._machines.pop(key, None)
        if machine is not None and look is not None:
            machine = machine.seen_after(before, look)
        if before is not None:
            self._unlink(_node_of(before), key)
        if machine is not None:
            self._machines[key] = machine
            if machine.node_name:
                self._linked[_node_of(machine)].add(key)
        self._put(key)

    def count_on(self, name: TargetName, counted: CountedFact) -> None:
        """Count a failure of a Machine, and not of its Node, as its incident counted it."""
        key = Key(name.namespace, name.name)
        machine = self._machines.get(key) if name.kind == self._kind_name else None
        if machine is None:
            return
        self._machines[key] = counted.on(machine, counted.fact.condition.removeprefix(OF_MACHINE))
        self._put(key)

    def _unlink(self, node: TargetName, key: Key) -> None:
        keys = self._linked.get(node, set())
        keys.discard(key)
        if not keys:
            self._linked.pop(node, None)

    def _put(self, key: Key) -> None:
        machine = self._machines.get(key)
        name = TargetName(self._kind_name, key.namespace, key.name)
        # Before `target_changed`: handlers of the Machine need to know whether its Node is still expected.
        self._cluster_state.linked_nodes.link(name, _expected_by(machine))
        target = None
        if machine is not None:
            # Ignore a Node that does not decode any more: the stored one is out of date.
            of_node, targets = _node_of(machine), self._cluster_state.targets
            is_read = machine.node_cluster in self._read and not targets.is_unreadable(of_node)
            node = targets.at(of_node.place).get(of_node.name) if is_read else None
            target = self._target(machine, node if isinstance(node, Node) else None, is_read=is_read)
        self._cluster_state.target_changed(name, target)


def _expected_by(machine: MachineLike | None) -> TargetName | None:
    """The Node that should exist; None if it may vanish for a known reason.

    The Node of a Machine that is being deleted is deleted first, and a cloud controller deletes the Node of
    an instance that is gone.
    """
    if machine is None or not machine.node_name or machine.is_going or machine.is_instance_gone:
        return None
    return _node_of(machine)


def _node_of(machine: MachineLike) -> TargetName:
    return node_name(machine.node_name, machine.node_cluster)
