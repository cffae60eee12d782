"""Controls one Machine of Cluster API: hardware, a Node in the workload cluster, and its deletion.

As in machine_upkeep.py, each step begins with a fresh read, and may be repeated.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from devcluster.simulation.cluster_api_conditions import with_condition
from devcluster.simulation.cluster_api_machine import (
    FINALIZER,
    ClusterApi,
    ClusterApiMachine,
    MachineCondition,
    next_step,
)
from devcluster.simulation.machine import (
    AddFinalizer,
    DeleteNode,
    LinkNode,
    RemoveFinalizer,
    RequeueAfter,
    Step,
    SwitchOff,
    SwitchOn,
    UpdatePhase,
)
from devcluster.simulation.machine_upkeep import with_provider_id
from devcluster.simulation.no_action import NoAction
from devcluster.simulation.openshift_machine import DELETING, PROVISIONED
from devcluster.simulation.power_switch import PowerSwitch
from health.model.node import Node
from kube.client import Client
from kube.errors import NotFound
from kube.record import Key
from kube.resource import NODES, Object

INFRASTRUCTURE_READY = MachineCondition(
    type="InfrastructureReady", status="True", reason="Ready", message="The simulated hardware runs."
)


@dataclass(frozen=True)
class ClusterApiMachineUpkeep:
    """Does for a Machine what the controllers of Cluster API do, on simulated hardware."""

    api: ClusterApi
    management: Client
    workload: Client
    switch: PowerSwitch
    provisioning: timedelta
    """The time between the creation of a Machine and its hardware."""

    async def look_after(self, key: Key) -> timedelta | None:
        """Work until nothing is to be done. Returns when to look again, if ever.

        Raises KubernetesError and SimulationError.
        """
        try:
            while True:
                stored = await self.management.get(self.api.machines, key.name, key.namespace)
                machine = ClusterApiMachine.model_validate(stored)
                node = await self._find_node(machine.node_name)
                step = next_step(machine, node, datetime.now(UTC), self.provisioning)
                if isinstance(step, NoAction | RequeueAfter):
                    return step.duration if isinstance(step, RequeueAfter) else None
                await self._do(step, machine, stored)
        except NotFound:  # the Machine or its Node is gone; that change leads here again
            return None

    async def _do(self, step: Step, machine: ClusterApiMachine, stored: Object) -> None:
        match step:
            case AddFinalizer():
                await self._set_finalizers(machine, [*machine.metadata.finalizers, FINALIZER])
            case SwitchOn():
                await self.switch.add(machine.node_name)
                await self._patch(machine, with_provider_id(machine))
            case UpdatePhase():
                await self._report(step, machine, stored)
            case SwitchOff():
                await self.switch.remove(machine.node_name)
                await self._report(UpdatePhase(DELETING), machine, stored)
            case DeleteNode(uid=uid):
                with suppress(NotFound):
                    await self.workload.delete(NODES, machine.node_name, uid=uid)
            case RemoveFinalizer():
                await self._set_finalizers(
                    machine, [f for f in machine.metadata.finalizers if f != FINALIZER]
                )
            case LinkNode() | NoAction() | RequeueAfter():
                return

    async def _report(self, report: UpdatePhase, machine: ClusterApiMachine, stored: Object) -> None:
        status: Object = {"phase": report.phase}
        if report.node is not None:
            status["nodeRef"] = {"name": report.node.name}
        if report.phase == PROVISIONED:
            shown, now = stored.get("status", {}).get("conditions", []), datetime.now(UTC)
            status["conditions"] = with_condition(shown, INFRASTRUCTURE_READY, self.api.version, now)
        await self._patch(machine, {**_of_version(machine), "status": status}, "status")

    async def _set_finalizers(self, machine: ClusterApiMachine, finalizers: list[str]) -> None:
        await self._patch(machine, _of_version(machine, finalizers=finalizers))

    async def _patch(self, machine: ClusterApiMachine, body: Object, subresource: str = "") -> None:
        at = machine.metadata
        await self.management.merge_patch(self.api.machines, at.name, body, at.namespace, subresource)

    async def _find_node(self, name: str) -> Node | None:
        try:
            return Node.model_validate(await self.workload.get(NODES, name))
        except NotFound:
            return None


def _of_version(machine: ClusterApiMachine, **changes: object) -> Object:
    return {"metadata": {"resourceVersion": machine.metadata.resource_version, **changes}}
