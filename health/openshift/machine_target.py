"""MachineTarget: a Machine with its Node, as one target; satisfies Target.

The marks by which people exclude or confirm Nodes are those of NodeHealthCheck and mean nothing here, nor has
a Machine to wait for a turn of the control plane (semantics A.1, A.2.5).
"""

from dataclasses import dataclass

from health.node import Node
from health.openshift.machine import Machine, MachineMetadata


@dataclass(frozen=True, slots=True)
class MachineTarget:
    """One Machine, at one moment."""

    machine: Machine
    node: Node | None = None
    """The Node that it is linked to, if that is there."""

    is_control_plane = False
    is_excluded = False
    has_empty_exclusion = False
    is_confirmed_healthy = False
    configuration_to_come = ""

    @property
    def metadata(self) -> MachineMetadata:
        """The Machine's."""
        return self.machine.metadata

    @property
    def replaced_by(self) -> str:
        """Its controller: a MachineSet, or what else makes Machines."""
        controller = self.machine.controller
        return f"{controller.kind}/{controller.name}" if controller else ""

    @property
    def node_name(self) -> str:
        """The Node that it was linked to, there or not; "" while there is none."""
        return self.machine.node_name

    @property
    def is_marked(self) -> bool:
        """Whether it is annotated for external remediation."""
        return self.machine.is_marked

    @property
    def has_lost_its_node(self) -> bool:
        """Whether it was linked to a Node that is not there (any more)."""
        return bool(self.node_name) and self.node is None
