"""Decides the next step for a MachineSet. Pure; called again after every step.

The Machines of a set are those that it controls. A Machine that is being deleted counts until it is gone, and
is replaced only then, so that a set never has too many Machines.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from devcluster.simulation.machine_object import (
    RUNNING,
    MachineObject,
    MachineSetObject,
    MachineSetStatus,
)
from devcluster.simulation.no_action import NoAction


@dataclass(frozen=True)
class Create:
    """Create this number of Machines for the set."""

    count: int


@dataclass(frozen=True)
class Delete:
    """Delete these Machines, which exceed the wanted number."""

    machines: tuple[MachineObject, ...]


@dataclass(frozen=True)
class UpdateReplicas:
    """Write the numbers of Machines to the status."""

    status: MachineSetStatus


Step = NoAction | Create | Delete | UpdateReplicas


def next_step(
    machine_set: MachineSetObject, machines: Iterable[MachineObject], ready_nodes: Collection[str]
) -> Step:
    """The next step, by the set, all Machines of its namespace, and the names of Ready Nodes."""
    if machine_set.metadata.deletion_timestamp is not None:
        return NoAction()
    owned = owned_by(machine_set, machines)
    surplus = len(owned) - machine_set.spec.replicas
    if surplus < 0:
        return Create(-surplus)
    going = sum(machine.is_being_deleted for machine in owned)
    if surplus > going:
        return Delete(_least_wanted(owned, surplus - going))
    status = _status(owned, ready_nodes)
    return NoAction() if status == machine_set.status else UpdateReplicas(status)


def owned_by(machine_set: MachineSetObject, machines: Iterable[MachineObject]) -> list[MachineObject]:
    uid = machine_set.metadata.uid
    return [machine for machine in machines if machine.controller and machine.controller.uid == uid]


def _least_wanted(owned: Sequence[MachineObject], count: int) -> tuple[MachineObject, ...]:
    """Machines that do not run first, then the youngest."""
    staying = [machine for machine in owned if not machine.is_being_deleted]
    staying.sort(key=lambda machine: machine.metadata.name)
    staying.sort(key=lambda machine: machine.metadata.creation_timestamp, reverse=True)
    staying.sort(key=lambda machine: machine.status.phase == RUNNING)
    return tuple(staying[:count])


def _status(owned: Sequence[MachineObject], ready_nodes: Collection[str]) -> MachineSetStatus:
    references = [machine.status.node_ref for machine in owned]
    ready = sum(reference is not None and reference.name in ready_nodes for reference in references)
    return MachineSetStatus(replicas=len(owned), ready_replicas=ready, available_replicas=ready)
