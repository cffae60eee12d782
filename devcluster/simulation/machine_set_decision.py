"""What a MachineSet wants next. Pure: looked at again after every step.

Its Machines are those whose controller it is. One that is being deleted counts until it is gone: only then is
it replaced, so that a set never has more Machines than it wants.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from devcluster.simulation.openshift_machine import (
    RUNNING,
    MachineSetStatus,
    OpenShiftMachine,
    OpenShiftMachineSet,
)


@dataclass(frozen=True)
class Nothing:
    """It has what it wants, or goes itself; garbage collection deletes its Machines then."""


@dataclass(frozen=True)
class Create:
    """Make so many Machines."""

    count: int


@dataclass(frozen=True)
class Delete:
    """Delete these Machines."""

    machines: tuple[OpenShiftMachine, ...]


@dataclass(frozen=True)
class Report:
    """Say how many there are."""

    status: MachineSetStatus


Step = Nothing | Create | Delete | Report


def next_step(
    machine_set: OpenShiftMachineSet, machines: Iterable[OpenShiftMachine], ready_nodes: Collection[str]
) -> Step:
    """Decide from the set, all Machines of its namespace, and the names of the Nodes that are ready."""
    if machine_set.metadata.deletion_timestamp is not None:
        return Nothing()
    owned = [machine for machine in machines if _is_controlled_by(machine_set, machine)]
    surplus = len(owned) - machine_set.spec.replicas
    if surplus < 0:
        return Create(-surplus)
    going = sum(machine.is_being_deleted for machine in owned)
    if surplus > going:
        return Delete(_least_wanted(owned, surplus - going))
    status = _status(owned, ready_nodes)
    return Nothing() if status == machine_set.status else Report(status)


def _is_controlled_by(machine_set: OpenShiftMachineSet, machine: OpenShiftMachine) -> bool:
    return machine.controller is not None and machine.controller.uid == machine_set.metadata.uid


def _least_wanted(owned: Sequence[OpenShiftMachine], count: int) -> tuple[OpenShiftMachine, ...]:
    """Those that do not run, then the youngest."""
    staying = [machine for machine in owned if not machine.is_being_deleted]
    staying.sort(key=lambda machine: machine.metadata.name)
    staying.sort(key=lambda machine: machine.metadata.creation_timestamp, reverse=True)
    staying.sort(key=lambda machine: machine.status.phase == RUNNING)
    return tuple(staying[:count])


def _status(owned: Sequence[OpenShiftMachine], ready_nodes: Collection[str]) -> MachineSetStatus:
    references = [machine.status.node_ref for machine in owned]
    ready = sum(reference is not None and reference.name in ready_nodes for reference in references)
    return MachineSetStatus(replicas=len(owned), ready_replicas=ready, available_replicas=ready)
