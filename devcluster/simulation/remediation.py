"""Carries out one request: read, decide, do one step, and again, until there is nothing left to do.

Each step begins with a fresh read, so a remediator that was killed goes on wherever it was.
"""

from datetime import UTC, datetime

from devcluster.simulation.openshift_machine import OpenShiftMachine
from devcluster.simulation.power_switch import PowerSwitch
from devcluster.simulation.remediation_decision import Nothing, Step, SwitchOffAndOn, next_step
from devcluster.simulation.remediation_request import RemediationRequest
from devcluster.simulation.remediation_status import status_patch
from devcluster.simulation.resources import MACHINES, REQUESTS
from kube.client import Client
from kube.errors import NotFound
from kube.record import Key


class Remediation:
    """What the demo remediator does for a request."""

    def __init__(self, client: Client, switch: PowerSwitch) -> None:
        self._client = client
        self._switch = switch

    async def carry_out(self, key: Key) -> None:
        """Return when the request is done or gone; raises KubernetesError and SimulationError."""
        try:
            while await self._one_step(key):
                pass
        except NotFound:
            return

    async def _one_step(self, key: Key) -> bool:
        """Return whether there may be another step."""
        answer = await self._client.get(REQUESTS, key.name, key.namespace)
        request = RemediationRequest.model_validate(answer)
        node = request.node(await self._node_of_machine(request))
        step = next_step(request, node, await self._switch.boot_ids())
        if isinstance(step, Nothing):
            return False
        await self._do(request, node, step, key)
        return True

    async def _node_of_machine(self, request: RemediationRequest) -> str:
        """Name of the Node that the Machine of the request became; "" if there is none."""
        if request.machine is None:
            return ""
        try:
            answer = await self._client.get(MACHINES, request.machine.name, request.metadata.namespace)
        except NotFound:
            return ""
        machine = OpenShiftMachine.model_validate(answer)
        if machine.metadata.uid != request.machine.uid or machine.status.node_ref is None:
            return ""
        return machine.status.node_ref.name

    async def _do(self, request: RemediationRequest, node: str, step: Step, key: Key) -> None:
        match step:
            case SwitchOffAndOn(power_off=power_off):
                await self._switch.power_cycle(node, power_off)
            case Nothing():
                return
            case _:
                patch = status_patch(request, node, step, datetime.now(UTC))
                await self._client.merge_patch(REQUESTS, key.name, patch, key.namespace, "status")
