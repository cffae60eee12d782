"""Looks after one Machine: read, decide, do one step, and again, until there is nothing left to do for now.

Each step begins with a fresh read and what it does may be done twice, so a controller that was killed goes on
wherever it was. As with a real provider, a Machine whose finalizer somebody else removes leaves its hardware
behind.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from devcluster.simulation import machine_drafts
from devcluster.simulation.machine_decision import (
    AddFinalizer,
    DeleteNode,
    LetGo,
    LinkNode,
    Nothing,
    Report,
    Step,
    SwitchOff,
    SwitchOn,
    Wait,
    next_step,
)
from devcluster.simulation.openshift_machine import DELETING, OpenShiftMachine
from devcluster.simulation.power_switch import PowerSwitch
from devcluster.simulation.resources import MACHINES
from health.model.node import Node
from kube.client import Client
from kube.errors import NotFound
from kube.record import Key
from kube.resource import NODES, Object


class MachineUpkeep:
    """What the controllers of OpenShift do for a Machine, on simulated hardware."""

    def __init__(self, client: Client, switch: PowerSwitch, provisioning: timedelta) -> None:
        """`provisioning` is how long the provider takes from the creation of a Machine."""
        self._client = client
        self._switch = switch
        self._provisioning = provisioning

    async def look_after(self, key: Key) -> timedelta | None:
        """Answer after how long to look again; raises KubernetesError and SimulationError."""
        try:
            while True:
                answer = await self._client.get(MACHINES, key.name, key.namespace)
                machine = OpenShiftMachine.model_validate(answer)
                node = await self._find_node(machine.node_name)
                step = next_step(machine, node, datetime.now(UTC), self._provisioning)
                if isinstance(step, Nothing | Wait):
                    return step.duration if isinstance(step, Wait) else None
                await self._do(step, machine)
        except NotFound:  # it is gone, or its Node is: that is a change too, which leads here again
            return None

    async def _do(self, step: Step, machine: OpenShiftMachine) -> None:
        match step:
            case AddFinalizer():
                await self._patch(machine, machine_drafts.with_finalizer(machine))
            case SwitchOn():
                await self._switch.add(machine.node_name)
                await self._patch(machine, machine_drafts.with_provider_id(machine))
            case Report():
                await self._report(machine, step)
            case LinkNode(uid=uid):
                await self._client.merge_patch(NODES, machine.node_name, machine_drafts.link(machine, uid))
            case SwitchOff():
                await self._switch.remove(machine.node_name)
                await self._report(machine, Report(DELETING))
            case DeleteNode(uid=uid):
                with suppress(NotFound):
                    await self._client.delete(NODES, machine.node_name, uid=uid)
            case LetGo():
                await self._patch(machine, machine_drafts.without_finalizer(machine))

    async def _report(self, machine: OpenShiftMachine, report: Report) -> None:
        status = machine_drafts.machine_status(machine, report, datetime.now(UTC))
        await self._patch(machine, status, "status")

    async def _patch(self, machine: OpenShiftMachine, body: Object, subresource: str = "") -> None:
        at = machine.metadata
        await self._client.merge_patch(MACHINES, at.name, body, at.namespace, subresource)

    async def _find_node(self, name: str) -> Node | None:
        try:
            return Node.model_validate(await self._client.get(NODES, name))
        except NotFound:
            return None
