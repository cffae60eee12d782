"""Which Machine and which MachineSet a change in the cluster is for."""

from collections.abc import Callable

from devcluster.simulation.openshift_machine import OpenShiftMachine
from devcluster.simulation.openshift_machine_set import OpenShiftMachineSet
from devcluster.simulation.resources import MACHINE_SETS
from health.model.node import Node
from kube.record import Change, Key, key_of

Tell = Callable[[Key], None]


class MachineWatch:
    """Hears of changes, and tells `machine` the key of a Machine and `machine_set` that of a set."""

    def __init__(self, machine: Tell, machine_set: Tell) -> None:
        self._tell_machine = machine
        self._tell_machine_set = machine_set
        self._by_node: dict[str, OpenShiftMachine] = {}

    def machine_set_changed(self, change: Change[OpenShiftMachineSet]) -> None:
        """A set came, changed or went."""
        self._tell_machine_set(change.key)

    def machine_changed(self, change: Change[OpenShiftMachine]) -> None:
        """A Machine came, changed or went; what it was says whose it was."""
        if change.old is not None:
            self._by_node.pop(change.old.node_name, None)
            self._tell(change.old)
        if change.new is not None:
            self._by_node[change.new.node_name] = change.new
            self._tell(change.new)

    def node_changed(self, change: Change[Node]) -> None:
        """A Node came, changed or went; of a simulated machine that was not added it is nobody's."""
        if machine := self._by_node.get(change.key.name):
            self._tell(machine)

    def _tell(self, machine: OpenShiftMachine) -> None:
        self._tell_machine(key_of(machine))
        owner = machine.controller
        if owner is not None and owner.kind == MACHINE_SETS.kind:
            self._tell_machine_set(Key(machine.metadata.namespace, owner.name))
