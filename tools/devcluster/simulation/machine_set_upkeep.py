"""Controls one MachineSet: first its marked Machines, then their number, step by step.

Each step begins with a fresh list of the Machines: an outdated one would lead to too many of them. The
Machines of a set are those that it controls. A Machine that is being deleted counts until it is gone, and is
replaced only then, so that a set never has too many Machines.

A Machine is marked if HealthCheckSucceeded and OwnerRemediated are both False. The mark of a recovered
Machine is removed, unless its deletion has begun. Machines that a person wants remediated go first, then the
newest, then by name. Machines beyond the limit wait, with the reason in their condition.
"""

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from devcluster.simulation.controller import NoAction
from devcluster.simulation.machine_api import MachineApi
from devcluster.simulation.machine_object import (
    HEALTH_CHECK_SUCCEEDED,
    MACHINE_DELETING,
    OWNER_REMEDIATED,
    REMEDIATION_DEFERRED,
    RUNNING,
    MachineCondition,
    MachineObject,
    MachineSetObject,
    MachineSetStatus,
    deletion,
    with_condition,
    without_condition,
)
from devcluster.simulation.machine_upkeep import of_version
from health.model.node import Node
from kube.client import Client
from kube.errors import NotFound
from kube.record import Key
from kube.reflector import Reflector
from kube.resource import Object

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
        answer = machine.condition(OWNER_REMEDIATED)
        if (answer.reason, answer.message) != (REMEDIATION_DEFERRED, message):
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


SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of names that API servers generate: without vowels, so without words."""

SUFFIX_LENGTH = 5


def new_machine(api: MachineApi, machine_set: Object, suffix: str) -> Object:
    """A Machine of the stored set, by its template."""
    owner, template = machine_set["metadata"], machine_set["spec"]["template"]
    reference = {
        "apiVersion": api.machine_sets.api_version,
        "kind": api.machine_sets.kind,
        "name": owner["name"],
        "uid": owner["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels, spec = api.identity(machine_set)
    of_template = template.get("metadata", {})
    metadata = {
        "name": f"{owner['name']}-{suffix}",
        "namespace": owner["namespace"],
        "labels": of_template.get("labels", {}) | labels,
        "annotations": of_template.get("annotations", {}),
        "finalizers": [api.finalizer],
        "ownerReferences": [reference],
    }
    return {
        "apiVersion": api.machines.api_version,
        "kind": api.machines.kind,
        "metadata": metadata,
        "spec": template.get("spec", {}) | spec,
    }


@dataclass(frozen=True, kw_only=True)
class MachineSetUpkeep:
    """Does for a MachineSet what the controller of its API does."""

    api: MachineApi
    management: Client
    nodes: Reflector[Node]
    """The Nodes of the Machines."""
    max_in_flight: int | None = None
    """The most remediations in progress, as in the MachineDeployment of a set."""

    async def look_after(self, key: Key) -> None:
        """Work until nothing is to be done, or the set is gone; raises KubernetesError."""
        await self.nodes.wait_synced()
        try:
            while await self._one_step(key):
                pass
        except NotFound:
            return

    async def _one_step(self, key: Key) -> bool:
        """True if there may be another step."""
        stored = await self.management.get(self.api.machine_sets, key.name, key.namespace)
        machine_set = MachineSetObject.model_validate(stored)
        found = await self.management.list(self.api.machines, key.namespace)
        machines = [MachineObject.model_validate(machine) for machine in found]
        step = self._next_step(machine_set, machines)
        await self._do(step, machine_set, stored)
        return not isinstance(step, NoAction)

    def _next_step(self, machine_set: MachineSetObject, machines: list[MachineObject]) -> Step:
        if self.api.replaces_marked:
            marked = next_of_marked(owned_by(machine_set, machines), self.max_in_flight)
            if not isinstance(marked, NoAction):
                return marked
        return next_step(machine_set, machines, _ready_nodes(self.nodes))

    async def _do(self, step: Step, machine_set: MachineSetObject, stored: Object) -> None:
        at = machine_set.metadata
        match step:
            case Unmark(machine=marked):
                await self._set_condition(marked, None)
            case Defer(machine=marked, message=message):
                condition = MachineCondition(
                    type=OWNER_REMEDIATED, status="False", reason=REMEDIATION_DEFERRED, message=message
                )
                await self._set_condition(marked, condition)
            case Replace(machine=marked):
                await self._set_condition(marked, deletion(self.api.version))
                await self._delete(marked)
            case Create(count=count):
                for _ in range(count):
                    machine = new_machine(self.api, stored, _suffix())
                    await self.management.create(self.api.machines, machine, at.namespace)
            case Delete(machines=machines):
                for surplus in machines:
                    await self._delete(surplus)
            case UpdateReplicas(status=status):
                patch = of_version(at) | {"status": status.model_dump(by_alias=True)}
                await self.management.merge_patch(
                    self.api.machine_sets, at.name, patch, at.namespace, "status"
                )
            case NoAction():
                return

    async def _set_condition(self, machine: MachineObject, condition: MachineCondition | None) -> None:
        """Set OwnerRemediated, or remove it; Conflict if the Machine changed meanwhile."""
        at = machine.metadata
        stored = await self.management.get(self.api.machines, at.name, at.namespace)
        shown: list[Object] = stored.get("status", {}).get("conditions", [])
        if condition is None:
            conditions = without_condition(shown, OWNER_REMEDIATED)
        else:
            conditions = with_condition(shown, condition, self.api.version, datetime.now(UTC))
        patch = of_version(at, uid=at.uid) | {"status": {"conditions": conditions}}
        await self.management.merge_patch(self.api.machines, at.name, patch, at.namespace, "status")

    async def _delete(self, machine: MachineObject) -> None:
        at = machine.metadata
        await self.management.delete(self.api.machines, at.name, at.namespace, uid=at.uid)


def _ready_nodes(nodes: Reflector[Node]) -> frozenset[str]:
    return frozenset(node.metadata.name for node in nodes.store.values() if _is_ready(node))


def _is_ready(node: Node) -> bool:
    return any((c.type, c.status) == ("Ready", "True") for c in node.status.conditions)


def _suffix() -> str:
    """A random end for the name of a new Machine."""
    return "".join(random.choices(SUFFIX_LETTERS, k=SUFFIX_LENGTH))  # noqa: S311  a name, no secret
