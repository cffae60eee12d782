"""Decides the next step for a MachineSet. Pure; called again after every step.

The Machines of a set are those that it controls. A Machine that is being deleted counts until it is gone, and
is replaced only then, so that a set never has too many Machines.

A Machine is marked if HealthCheckSucceeded and OwnerRemediated are both False. The mark of a recovered
Machine is removed, unless its deletion has begun. Machines that a person wants remediated go first, then the
newest, then by name. Machines beyond the limit wait, with the reason in their condition.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from devcluster.simulation.controller import NoAction
from devcluster.simulation.machine_object import (
    HEALTH_CHECK_SUCCEEDED,
    MACHINE_DELETING,
    OWNER_REMEDIATED,
    REMEDIATION_DEFERRED,
    RUNNING,
    MachineObject,
    MachineSetObject,
    MachineSetStatus,
)

REMEDIATE = "cluster.x-k8s.io/remediate-machine"
"""The annotation that requests a remediation independent of the health of the Machine."""


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


@dataclass(frozen=True)
class Unmark:
    """Remove the mark of a Machine that is healthy again."""

    machine: MachineObject


@dataclass(frozen=True)
class Defer:
    """Write into the condition of a Machine that it has to wait."""

    machine: MachineObject
    message: str


@dataclass(frozen=True)
class Replace:
    """Announce the deletion of a Machine and delete it; it is replaced when it is gone."""

    machine: MachineObject


Step = NoAction | Create | Delete | UpdateReplicas | Unmark | Defer | Replace


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


def next_of_marked(machines: Iterable[MachineObject], max_in_flight: int | None = None) -> Step:
    """The next step for the marked Machines of one owner; a limit of None allows any number."""
    owned = list(machines)
    staying = [machine for machine in owned if not machine.is_being_deleted]
    for machine in staying:
        if _health(machine) == "True" and _mark(machine) == "False":
            return Unmark(machine)
    marked = [machine for machine in staying if _health(machine) == _mark(machine) == "False"]
    if not marked:
        return NoAction()
    if max_in_flight is None or sum(map(_is_in_flight, owned)) < max_in_flight:
        return Replace(_first(marked))
    return _next_deferred(marked, max_in_flight)


def _next_deferred(marked: Iterable[MachineObject], max_in_flight: int) -> Step:
    message = (
        "Waiting because there are already too many remediations in progress "
        f"(spec.strategy.remediation.maxInFlight is {max_in_flight})"
    )
    for machine in marked:
        said = machine.condition(OWNER_REMEDIATED)
        if (said.reason, said.message) != (REMEDIATION_DEFERRED, message):
            return Defer(machine, message)
    return NoAction()


def _first(marked: Iterable[MachineObject]) -> MachineObject:
    by_name = sorted(marked, key=lambda machine: machine.metadata.name)
    newest = sorted(by_name, key=lambda machine: machine.metadata.creation_timestamp, reverse=True)
    return min(newest, key=lambda machine: REMEDIATE not in machine.metadata.annotations)


def _health(machine: MachineObject) -> str:
    return machine.condition(HEALTH_CHECK_SUCCEEDED).status


def _mark(machine: MachineObject) -> str:
    return machine.condition(OWNER_REMEDIATED).status


def _is_in_flight(machine: MachineObject) -> bool:
    return machine.is_being_deleted and machine.condition(OWNER_REMEDIATED).reason == MACHINE_DELETING
