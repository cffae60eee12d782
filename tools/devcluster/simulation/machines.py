"""Controls MachineSets and Machines of one API on simulated nodes. A round takes one step for each of them.

A Machine waits for its provider, gets its hardware, reports that, and is linked to its Node. A deleted
Machine loses the Node first, then our finalizer. A Failed Machine is left alone, and a deleted Node is not
created again. As with a real provider, a Machine whose finalizer a user removes leaves its hardware behind.

The Machines of a set are those that it controls. A Machine that is being deleted counts until it is gone, and
is replaced only then, so that a set never has too many Machines. With Cluster API a set also replaces its
marked Machines: HealthCheckSucceeded and OwnerRemediated are both False. The mark of a recovered Machine is
removed.

Steps may be repeated, so a killed controller continues from any point. Patches of Machines apply only to the
version that was read; those of Nodes to any version, because the kubelet writes all the time.
"""

import random
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from devcluster.simulation.machine_api import (
    DELETING,
    FAILED,
    HEALTH_CHECK_SUCCEEDED,
    OWNER_REMEDIATED,
    PROVISIONED,
    PROVISIONING,
    RUNNING,
    ClusterApi,
    CreateNode,
    DeleteNode,
    LinkNode,
    MachineApi,
    MachineObject,
    MachineSetObject,
    MachineSetStatus,
    SetFinalizers,
    Step,
    UpdatePhase,
    deletion,
    link,
    with_condition,
    without_condition,
)
from devcluster.simulation.nodes import provider_id, simulated_node
from health.model.node import Node
from kube.client import Client
from kube.errors import AlreadyExists, Conflict, KindUnknown, NotFound
from kube.resource import NODES, Object
from objects.metadata import ObjectMetadata


def next_step(  # noqa: PLR0911  a list of steps, in their order
    api: MachineApi, machine: MachineObject, node: Node | None, now: datetime, provisioning: timedelta
) -> Step | None:
    """The next step for the Machine and its Node; `provisioning` is how long its hardware takes."""
    metadata, phase = machine.metadata, machine.status.phase
    others = tuple(other for other in metadata.finalizers if other != api.finalizer)
    has_our_finalizer = others != metadata.finalizers
    if machine.is_being_deleted:
        if not has_our_finalizer:
            return None
        if phase != DELETING:
            return UpdatePhase(DELETING)
        if node is None:
            return SetFinalizers(others)
        return None if node.metadata.deletion_timestamp else DeleteNode(node.metadata.uid)
    if phase == FAILED:
        return None
    if not has_our_finalizer:
        return SetFinalizers((*others, api.finalizer))
    if not machine.spec.provider_id:
        if phase != PROVISIONING:
            return UpdatePhase(PROVISIONING)
        return CreateNode() if metadata.creation_timestamp + provisioning <= now else None
    if phase in ("", PROVISIONING):
        return UpdatePhase(PROVISIONED)
    return None if node is None else api.next_link(machine, node)


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
class Replace:
    """Announce the deletion of a marked Machine and delete it; it is replaced when it is gone."""

    machine: MachineObject


SetStep = Create | Delete | UpdateReplicas | Unmark | Replace


def next_set_step(
    machine_set: MachineSetObject,
    machines: Iterable[MachineObject],
    ready_nodes: Collection[str],
    *,
    replaces_marked: bool = False,
) -> SetStep | None:
    """The next step, by the set, all Machines of its namespace, and the names of Ready Nodes."""
    uid = machine_set.metadata.uid
    owned = [machine for machine in machines if machine.controller and machine.controller.uid == uid]
    staying = [machine for machine in owned if not machine.is_being_deleted]
    for machine in staying if replaces_marked else ():
        match machine.condition(HEALTH_CHECK_SUCCEEDED).status, machine.condition(OWNER_REMEDIATED).status:
            case "True", "False":
                return Unmark(machine)
            case "False", "False":
                return Replace(machine)
    if machine_set.metadata.deletion_timestamp is not None:
        return None
    if len(owned) < machine_set.spec.replicas:
        return Create(machine_set.spec.replicas - len(owned))
    if len(staying) > machine_set.spec.replicas:
        # Machines that do not run go first, then the youngest.
        staying.sort(key=lambda machine: machine.metadata.name)
        staying.sort(key=lambda machine: machine.metadata.creation_timestamp, reverse=True)
        staying.sort(key=lambda machine: machine.status.phase == RUNNING)
        return Delete(tuple(staying[: len(staying) - machine_set.spec.replicas]))
    references = [machine.status.node_ref for machine in owned]
    ready = sum(reference is not None and reference.name in ready_nodes for reference in references)
    status = MachineSetStatus(replicas=len(owned), ready_replicas=ready, available_replicas=ready)
    return None if status == machine_set.status else UpdateReplicas(status)


SUFFIX_LETTERS, SUFFIX_LENGTH = "bcdfghjklmnpqrstvwxz2456789", 5
"""The end of names that API servers generate: without vowels, so without words."""


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
class MachineController:
    """Does what the controllers of one machine API do."""

    api: MachineApi
    management: Client
    """The cluster of the Machines."""
    workload: Client
    """The cluster of their Nodes."""
    provisioning: timedelta
    """The time between the creation of a Machine and its hardware."""

    async def reconcile(self) -> None:
        """Take one step for each MachineSet and each Machine. Raises KubernetesError."""
        sets = await self.management.list(self.api.machine_sets)
        stored = await self.management.list(self.api.machines)
        machines = [MachineObject.model_validate(machine) for machine in stored]
        nodes = {
            node.metadata.name: node for node in map(Node.model_validate, await self.workload.list(NODES))
        }
        ready = frozenset(name for name, node in nodes.items() if _is_ready(node))
        for machine_set in sets:
            with suppress(NotFound, Conflict):  # it has changed since, and the next round reads it again
                await self._take_set_step(machine_set, machines, ready)
        for machine, body in zip(machines, stored, strict=True):
            step = next_step(
                self.api, machine, nodes.get(machine.node_name), datetime.now(UTC), self.provisioning
            )
            with suppress(NotFound, Conflict):
                await self._take_step(step, machine, body)

    async def _take_set_step(
        self, stored: Object, machines: Sequence[MachineObject], ready_nodes: Collection[str]
    ) -> None:
        machine_set = MachineSetObject.model_validate(stored)
        at, api = machine_set.metadata, self.api
        of_namespace = (machine for machine in machines if machine.metadata.namespace == at.namespace)
        step = next_set_step(machine_set, of_namespace, ready_nodes, replaces_marked=api.replaces_marked)
        match step:
            case Create(count=count):
                for _ in range(count):
                    suffix = "".join(random.choices(SUFFIX_LETTERS, k=SUFFIX_LENGTH))  # noqa: S311  a name, no secret
                    await self.management.create(api.machines, new_machine(api, stored, suffix), at.namespace)
            case Delete(machines=surplus):
                for machine in surplus:
                    await self._delete(machine)
            case UpdateReplicas(status=status):
                patch = of_version(at) | {"status": status.model_dump(by_alias=True)}
                await self.management.merge_patch(api.machine_sets, at.name, patch, at.namespace, "status")
            case Unmark(machine=machine) | Replace(machine=machine):
                marked = await self.management.get(api.machines, machine.metadata.name, at.namespace)
                shown: Sequence[Object] = marked.get("status", {}).get("conditions", [])
                if isinstance(step, Unmark):
                    conditions = without_condition(shown, OWNER_REMEDIATED)
                else:
                    conditions = with_condition(shown, deletion(api.version), api.version, datetime.now(UTC))
                await self._patch(machine, {"status": {"conditions": conditions}}, "status")
                if isinstance(step, Replace):
                    await self._delete(machine)
            case None:
                return

    async def _take_step(self, step: Step | None, machine: MachineObject, stored: Object) -> None:
        name = machine.node_name
        match step:
            case SetFinalizers(finalizers=finalizers):
                await self._patch(machine, of_version(machine.metadata, finalizers=list(finalizers)))
            case CreateNode():
                with suppress(AlreadyExists):
                    await self.workload.create(NODES, simulated_node(name))
                await self._patch(machine, {"spec": {"providerID": provider_id(name)}})
            case UpdatePhase():
                status = self.api.status(step, stored, datetime.now(UTC))
                await self._patch(machine, {"status": status}, "status")
            case LinkNode(uid=uid):
                await self.workload.merge_patch(NODES, name, link(machine, uid))
            case DeleteNode(uid=uid):
                await self.workload.delete(NODES, name, uid=uid)
            case None:
                return

    async def _patch(self, machine: MachineObject, body: Object, subresource: str = "") -> None:
        at = machine.metadata
        patch = of_version(at) | body
        await self.management.merge_patch(self.api.machines, at.name, patch, at.namespace, subresource)

    async def _delete(self, machine: MachineObject) -> None:
        at = machine.metadata
        await self.management.delete(self.api.machines, at.name, at.namespace, uid=at.uid)


async def reconcile_cluster_api(management: Client, workload: Client, provisioning: timedelta) -> None:
    """One round for Cluster API in the newest version that is served now. Raises KubernetesError."""
    newest, oldest = (
        MachineController(
            api=ClusterApi(version), management=management, workload=workload, provisioning=provisioning
        )
        for version in ("v1beta2", "v1beta1")
    )
    try:
        await newest.reconcile()
    except KindUnknown:
        await oldest.reconcile()


def of_version(metadata: ObjectMetadata, **changes: object) -> Object:
    """A patch of the metadata that applies only to the version that was read."""
    return {"metadata": {"resourceVersion": metadata.resource_version, **changes}}


def _is_ready(node: Node) -> bool:
    return any((c.type, c.status) == ("Ready", "True") for c in node.status.conditions)
