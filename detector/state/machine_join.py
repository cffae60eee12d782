"""MachineJoin: each Machine with its Node, one target of the cluster state that either of the two changes.

Two Machines may be linked to one Node: it counts for both. A Node is unread while the Nodes of its cluster
were not read, and while it exists and does not decode: then it is not known what it says, and it is not gone.
"""

from collections import defaultdict
from typing import Any, Protocol

from detector.state.cluster_state import ClusterState
from health.model.node import Node
from health.model.target import Target, TargetName, node_name
from kube.record import Key
from objects.clusters import MANAGEMENT_CLUSTER


class Machine(Protocol):
    """What is joined: a Machine of whichever API."""

    @property
    def node_name(self) -> str:
        """The Node that it was linked to; "" while there is none."""

    @property
    def node_cluster(self) -> str:
        """The cluster in which that Node is."""

    @property
    def is_going(self) -> bool:
        """Whether it is being deleted."""


class MakeTarget(Protocol):
    """Makes a target of what is joined."""

    def __call__(self, machine: Any, node: Node | None, *, is_read: bool) -> Target:  # noqa: ANN401  of the type that the kind reads
        """Of a Machine, its Node, and whether it is known what the Node says, or that it is not there."""


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
        self._machines: dict[Key, Machine] = {}
        self._nodes: dict[TargetName, Node] = {}
        self._linked: defaultdict[TargetName, set[Key]] = defaultdict(set)
        """By the name of the Node, there or not."""
        self._read = {MANAGEMENT_CLUSTER}
        """The clusters whose Nodes are known."""

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        """A Node came, changed or (None) went."""
        if node is None:
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = node
        self._put_linked(name)

    def node_decoding_changed(self, name: TargetName) -> None:
        """A Node that exists stopped to decode, or one that did not decodes again or went."""
        self._put_linked(name)

    def cluster_read(self, cluster: str) -> None:
        """The Nodes of a workload cluster were read completely."""
        if cluster not in self._read:
            self._read.add(cluster)
            self._put_all_of(cluster)

    def cluster_forgotten(self, cluster: str) -> None:
        """Nobody looks for the Nodes of a workload cluster any more."""
        self._read.discard(cluster)
        self._put_all_of(cluster)

    def target_changed(self, key: Key, machine: Machine | None) -> None:
        """A Machine came, changed or (None) went."""
        before = self._machines.pop(key, None)
        if before is not None:
            self._unlink(_node_of(before), key)
        if machine is not None:
            self._machines[key] = machine
            if machine.node_name:
                self._linked[_node_of(machine)].add(key)
        self._put(key)

    def _unlink(self, node: TargetName, key: Key) -> None:
        keys = self._linked.get(node, set())
        keys.discard(key)
        if not keys:
            self._linked.pop(node, None)

    def _put_linked(self, name: TargetName) -> None:
        for key in tuple(self._linked.get(name, ())):
            self._put(key)

    def _put_all_of(self, cluster: str) -> None:
        for key in [key for key, machine in self._machines.items() if machine.node_cluster == cluster]:
            self._put(key)

    def _put(self, key: Key) -> None:
        machine = self._machines.get(key)
        name = TargetName(self._kind_name, key.namespace, key.name)
        # First: whether its Node is believed to be gone decides about what is told of the Machine.
        self._cluster_state.linked_nodes.link(name, _expected_by(machine))
        target = None
        if machine is not None:
            is_read = self._is_read(machine)
            # A Node that does not decode any more may be known from before; that is not what it says now.
            node = self._nodes.get(_node_of(machine)) if is_read else None
            target = self._target(machine, node, is_read=is_read)
        self._cluster_state.target_changed(name, target)

    def _is_read(self, machine: Machine) -> bool:
        is_undecodable = self._cluster_state.targets.is_unreadable(_node_of(machine))
        return machine.node_cluster in self._read and not is_undecodable


def _expected_by(machine: Machine | None) -> TargetName | None:
    """The Node that ought to be there: whoever deletes a Machine takes its Node away first."""
    is_expected = machine is not None and machine.node_name and not machine.is_going
    return _node_of(machine) if machine is not None and is_expected else None


def _node_of(machine: Machine) -> TargetName:
    return node_name(machine.node_name, machine.node_cluster)
