"""Controls one MachineSet of Cluster API: first its marked Machines, then their number.

As in machine_set_upkeep.py, each step begins with a fresh list of the Machines.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from devcluster.simulation import machine_set_decision, machine_upkeep, marked_machines
from devcluster.simulation.cluster_api_conditions import deletion, with_condition, without_condition
from devcluster.simulation.cluster_api_machine import (
    CLUSTER_NAME,
    FINALIZER,
    OWNER_REMEDIATED,
    REMEDIATION_DEFERRED,
    SET_NAME,
    ClusterApi,
    ClusterApiMachine,
    MachineCondition,
)
from devcluster.simulation.machine_set_decision import Create, Delete, UpdateReplicas
from devcluster.simulation.machine_set_upkeep import ready_nodes, suffix
from devcluster.simulation.marked_machines import Defer, Replace, Unmark
from devcluster.simulation.no_action import NoAction
from devcluster.simulation.openshift_machine import OpenShiftMachine, OpenShiftMachineSet
from health.model.node import Node
from kube.client import Client
from kube.errors import NotFound
from kube.record import Key
from kube.reflector import Reflector
from kube.resource import Object, Resource

Conditions = list[Object]


def new_machine(machines: Resource, stored: Object, ending: str) -> Object:
    owner, spec = stored["metadata"], stored["spec"]
    template = spec["template"]
    reference = {
        "apiVersion": stored["apiVersion"],
        "kind": stored["kind"],
        "name": owner["name"],
        "uid": owner["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    of_template = template.get("metadata", {})
    ours = {CLUSTER_NAME: spec["clusterName"], SET_NAME: owner["name"]}
    metadata = {
        "name": f"{owner['name']}-{ending}",
        "namespace": owner["namespace"],
        "labels": of_template.get("labels", {}) | ours,
        "annotations": of_template.get("annotations", {}),
        "finalizers": [FINALIZER],
        "ownerReferences": [reference],
    }
    return {
        "apiVersion": machines.api_version,
        "kind": machines.kind,
        "metadata": metadata,
        "spec": template.get("spec", {}) | {"clusterName": spec["clusterName"]},
    }


@dataclass(frozen=True)
class ClusterApiMachineSetUpkeep:
    """Does for a MachineSet what the controller of Cluster API does."""

    api: ClusterApi
    management: Client
    nodes: Reflector[Node]
    """The Nodes of the workload cluster."""
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
        machine_set = OpenShiftMachineSet.model_validate(stored)
        found = await self.management.list(self.api.machines, key.namespace)
        machines = [ClusterApiMachine.model_validate(machine) for machine in found]
        owned = [m for m in machines if m.controller and m.controller.uid == machine_set.metadata.uid]
        marked = marked_machines.next_step(owned, self.max_in_flight)
        if not isinstance(marked, NoAction):
            await self._remediate(marked)
            return True
        step = machine_set_decision.next_step(machine_set, owned, ready_nodes(self.nodes))
        await self._do(step, machine_set, stored)
        return not isinstance(step, NoAction)

    async def _remediate(self, step: Unmark | Defer | Replace) -> None:
        match step:
            case Unmark(machine=machine):
                await self._set_condition(machine, None)
            case Defer(machine=machine, message=message):
                condition = MachineCondition(
                    type=OWNER_REMEDIATED, status="False", reason=REMEDIATION_DEFERRED, message=message
                )
                await self._set_condition(machine, condition)
            case Replace(machine=machine):
                await self._set_condition(machine, deletion(self.api.version))
                await self._delete(machine)

    async def _do(
        self, step: machine_set_decision.Step, machine_set: OpenShiftMachineSet, stored: Object
    ) -> None:
        at = machine_set.metadata
        match step:
            case Create(count=count):
                for _ in range(count):
                    machine = new_machine(self.api.machines, stored, suffix())
                    await self.management.create(self.api.machines, machine, at.namespace)
            case Delete(machines=machines):
                for surplus in machines:
                    await self._delete(surplus)
            case UpdateReplicas(status=status):
                patch = machine_upkeep.machine_set_status(machine_set, status)
                await self.management.merge_patch(
                    self.api.machine_sets, at.name, patch, at.namespace, "status"
                )
            case NoAction():
                return

    async def _set_condition(self, machine: ClusterApiMachine, condition: MachineCondition | None) -> None:
        """Set OwnerRemediated, or remove it; Conflict if the Machine changed meanwhile."""
        at = machine.metadata
        stored = await self.management.get(self.api.machines, at.name, at.namespace)
        shown: Conditions = stored.get("status", {}).get("conditions", [])
        if condition is None:
            conditions = without_condition(shown, OWNER_REMEDIATED)
        else:
            conditions = with_condition(shown, condition, self.api.version, datetime.now(UTC))
        metadata = {"uid": at.uid, "resourceVersion": at.resource_version}
        patch = {"metadata": metadata, "status": {"conditions": conditions}}
        await self.management.merge_patch(self.api.machines, at.name, patch, at.namespace, "status")

    async def _delete(self, machine: OpenShiftMachine) -> None:
        at = machine.metadata
        await self.management.delete(self.api.machines, at.name, at.namespace, uid=at.uid)
