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
from collections.abc import Collection, Iterable
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
    MachineApi,
    MachineObject,
    MachineSetObject,
    MachineSetStatus,
    ReferencedNode,
    deletion,
    with_condition,
    without_condition,
)
from devcluster.simulation.nodes import provider_id, simulated_node
from health.model.node import Node
from kube.client import Client
from kube.errors import AlreadyExists, Conflict, KindUnknown, NotFound
from kube.resource import NODES, Object
from objects.metadata import ObjectMetadata

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
    """Does what the controllers of one machine API do. Its methods raise KubernetesError."""

    api: MachineApi
    management: Client
    """The cluster of the Machines."""
    workload: Client
    """The cluster of their Nodes."""
    provisioning: timedelta
    """The time between the creation of a Machine and its hardware."""

    async def reconcile(self) -> None:
        """Take one step for each MachineSet and each Machine."""
        now, sets = datetime.now(UTC), await self.management.list(self.api.machine_sets)
        stored = await self.management.list(self.api.machines)
        machines = [MachineObject.model_validate(machine) for machine in stored]
        nodes = {
            node.metadata.name: node for node in map(Node.model_validate, await self.workload.list(NODES))
        }
        ready = frozenset(name for name, node in nodes.items() if _is_ready(node))
        for machine_set in sets:
            with suppress(NotFound, Conflict):  # it has changed since, and the next round reads it again
                await self.advance_set(machine_set, machines, ready, now)
        for machine, body in zip(machines, stored, strict=True):
            with suppress(NotFound, Conflict):
                await self.advance(machine, body, nodes.get(machine.node_name), now)

    async def advance_set(
        self, stored: Object, machines: Iterable[MachineObject], ready_nodes: Collection[str], now: datetime
    ) -> None:
        """Take the next step of a set, by the Machines of all sets and the names of Ready Nodes."""
        machine_set, api = MachineSetObject.model_validate(stored), self.api
        at, wanted = machine_set.metadata, machine_set.spec.replicas
        owned = [machine for machine in machines if machine.controller and machine.controller.uid == at.uid]
        staying = [machine for machine in owned if not machine.is_being_deleted]

        # Remove the mark of a Machine that is healthy again; replace a marked one: announce, and delete.
        for machine in staying if api.replaces_marked else ():
            health = machine.condition(HEALTH_CHECK_SUCCEEDED).status
            if machine.condition(OWNER_REMEDIATED).status == "False" and health in ("True", "False"):
                marked = await self.management.get(api.machines, machine.metadata.name, at.namespace)
                conditions: list[Object] = marked.get("status", {}).get("conditions", [])
                if health == "True":
                    conditions = without_condition(conditions, OWNER_REMEDIATED)
                else:
                    conditions = with_condition(conditions, deletion(api.version), api.version, now)
                await self._patch(machine, {"status": {"conditions": conditions}}, "status")
                if health == "False":
                    await self._delete(machine)
                return
        if at.deletion_timestamp is not None:
            return

        # Create missing Machines, or delete surplus ones.
        for _ in range(wanted - len(owned)):
            suffix = "".join(random.choices(SUFFIX_LETTERS, k=SUFFIX_LENGTH))  # noqa: S311  a name, no secret
            await self.management.create(api.machines, new_machine(api, stored, suffix), at.namespace)
        # Machines that do not run go first, then the youngest.
        staying.sort(key=lambda machine: machine.metadata.name)
        staying.sort(key=lambda machine: machine.metadata.creation_timestamp, reverse=True)
        staying.sort(key=lambda machine: machine.status.phase == RUNNING)
        for machine in staying[: max(len(staying) - wanted, 0)]:
            await self._delete(machine)
        if len(owned) < wanted or len(staying) > wanted:
            return

        # Report the numbers.
        references = [machine.status.node_ref for machine in owned]
        ready = sum(reference is not None and reference.name in ready_nodes for reference in references)
        status = MachineSetStatus(replicas=len(owned), ready_replicas=ready, available_replicas=ready)
        if status != machine_set.status:
            patch = of_version(at) | {"status": status.model_dump(by_alias=True)}
            await self.management.merge_patch(api.machine_sets, at.name, patch, at.namespace, "status")

    async def advance(  # noqa: C901  a list of steps, in their order
        self, machine: MachineObject, stored: Object, node: Node | None, now: datetime
    ) -> None:
        """Take the next step of a Machine, by its Node."""
        api, phase, finalizers = self.api, machine.status.phase, machine.metadata.finalizers

        async def report(phase: str, reference: ReferencedNode | None = None) -> None:
            await self._patch(machine, {"status": api.status(phase, reference, stored, now)}, "status")

        if machine.is_being_deleted:
            if api.finalizer in finalizers and phase != DELETING:
                await report(DELETING)
            elif api.finalizer in finalizers:
                await self._take_away(machine, node)
        elif phase == FAILED:
            return
        elif api.finalizer not in finalizers:
            await self._set_finalizers(machine, (*finalizers, api.finalizer))
        elif not machine.spec.provider_id and phase != PROVISIONING:
            await report(PROVISIONING)
        elif not machine.spec.provider_id:
            if machine.metadata.creation_timestamp + self.provisioning <= now:
                with suppress(AlreadyExists):
                    await self.workload.create(NODES, simulated_node(machine.node_name))
                await self._patch(machine, {"spec": {"providerID": provider_id(machine.node_name)}})
        elif phase in ("", PROVISIONING):
            await report(PROVISIONED)
        elif node is not None:
            # The Node names its Machine, then the Machine reports the Node.
            reference = api.reference(node)
            if patch := api.node_patch(machine, node):
                await self.workload.merge_patch(NODES, machine.node_name, patch)
            elif (phase, machine.status.node_ref) != (RUNNING, reference):
                await report(RUNNING, reference)

    async def _take_away(self, machine: MachineObject, node: Node | None) -> None:
        """Delete the hardware of a deleted Machine with its Node, then our finalizer."""
        if node is None:
            others = (name for name in machine.metadata.finalizers if name != self.api.finalizer)
            await self._set_finalizers(machine, tuple(others))
        elif not node.metadata.deletion_timestamp:
            await self.workload.delete(NODES, machine.node_name, uid=node.metadata.uid)

    async def _set_finalizers(self, machine: MachineObject, finalizers: tuple[str, ...]) -> None:
        await self._patch(machine, of_version(machine.metadata, finalizers=list(finalizers)))

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
