"""MachineJoin: each Machine with its Node, one target of the cluster state that either of the two changes.

Two Machines may be linked to one Node: it counts for both.
"""

from collections import defaultdict

from detector.state.cluster_state import ClusterState
from health.kinds.openshift.machine import KIND, Machine, MachineTarget
from health.model.node import Node
from health.model.target import TargetName, node_name
from kube.record import Key


class MachineJoin:
    """The Machines of one cluster."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._machines: dict[Key, Machine] = {}
        self._nodes: dict[TargetName, Node] = {}
        self._linked: defaultdict[TargetName, set[Key]] = defaultdict(set)
        """By the name of the Node, there or not."""

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        """A Node came, changed or (None) went."""
        if node is None:
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = node
        for key in tuple(self._linked.get(name, ())):
            self._put(key)

    def target_changed(self, key: Key, machine: Machine | None) -> None:
        """A Machine came, changed or (None) went."""
        before = self._machines.pop(key, None)
        if before is not None:
            self._unlink(node_name(before.node_name), key)
        if machine is not None:
            self._machines[key] = machine
            if machine.node_name:
                self._linked[node_name(machine.node_name)].add(key)
        self._put(key)

    def _unlink(self, node: TargetName, key: Key) -> None:
        keys = self._linked.get(node, set())
        keys.discard(key)
        if not keys:
            self._linked.pop(node, None)

    def _put(self, key: Key) -> None:
        machine = self._machines.get(key)
        target = (
            None if machine is None else MachineTarget(machine, self._nodes.get(node_name(machine.node_name)))
        )
        self._cluster_state.target_changed(TargetName(KIND, key.namespace, key.name), target)
