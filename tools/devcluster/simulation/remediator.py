"""The demo remediator: it power-cycles the simulated nodes of its requests.

Each round reads all requests and takes one step for each unfinished one. The status of the request keeps the
boot ID from before the power cycle: a node with another boot ID has been power-cycled, whatever happened to
the remediator meanwhile. The node itself switches on again, so a deleted request leaves no node off.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from pydantic import Field

from devcluster.simulation.machine_api import MachineObject
from devcluster.simulation.nodes import POWER_ON_AT, SIMULATED, boot_of, power_off, reported_boot
from devcluster.simulation.resources import MACHINES, REQUESTS
from kube.client import Client
from kube.errors import Conflict, NotFound, none_if_absent
from kube.resource import NODES
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata, OwnerReference
from objects.timestamps import stamp

NODE_NAME = "remediation.medik8s.io/node-name"
TIMED_OUT = "remediation.medik8s.io/nhc-timed-out"


class PowerCycleCondition(FrozenObject):
    """The fields of a condition in the status of a request that its next report keeps."""

    type: str
    status: str
    last_transition_time: str


class PowerCycleSpec(FrozenObject):
    """The wanted duration of the power-off, in seconds."""

    power_off_seconds: int = 2


class PowerCycleStatus(FrozenObject):
    """The progress of a request, and the boot ID before it."""

    boot_id_before: str | None = Field(default=None, alias="bootIDBefore")
    conditions: tuple[PowerCycleCondition, ...] = ()


class PowerCycleRemediation(FrozenObject):
    """A PowerCycleRemediation, for a Node or for a Machine."""

    metadata: ObjectMetadata
    spec: PowerCycleSpec = PowerCycleSpec()
    status: PowerCycleStatus = PowerCycleStatus()

    @property
    def machine(self) -> OwnerReference | None:
        """The Machine that owns the request, if there is one."""
        kind = (MACHINES.api_version, MACHINES.kind)
        return next((o for o in self.metadata.owner_references if (o.api_version, o.kind) == kind), None)

    def node(self, of_machine: str | None = None) -> str:
        """The name of the node to power-cycle.

        The node of its Machine, if that has one; else the annotation, else the name of the request.
        """
        return of_machine or self.metadata.annotations.get(NODE_NAME, self.metadata.name)

    @property
    def is_over(self) -> bool:
        """True if nothing is to be done: it has finished, is being deleted, or was timed out."""
        finished = any(c.type == "Succeeded" and c.status != "Unknown" for c in self.status.conditions)
        stopped = self.metadata.deletion_timestamp is not None or TIMED_OUT in self.metadata.annotations
        return finished or stopped


async def remediate(client: Client) -> None:
    """Take one step for each unfinished request. Raises KubernetesError."""
    for stored in await client.list(REQUESTS):
        request = PowerCycleRemediation.model_validate(stored)
        if not request.is_over:
            with suppress(NotFound, Conflict):  # it has changed since, and the next round reads it again
                await advance(client, request, datetime.now(UTC))


async def advance(client: Client, request: PowerCycleRemediation, now: datetime) -> None:
    """Take the next step of an unfinished request. Raises KubernetesError."""
    name = request.node(await _node_of_machine(client, request))
    node, before = await none_if_absent(client.get(NODES, name)), request.status.boot_id_before

    async def report(processing: str, succeeded: str, reason: str, message: str, **more: object) -> None:
        shown = {condition.type: condition for condition in request.status.conditions}
        conditions = []
        for type_, status in (("Processing", processing), ("Succeeded", succeeded)):
            old = shown.get(type_)
            since = old.last_transition_time if old and old.status == status else stamp(now)
            condition = {"type": type_, "status": status, "reason": reason, "message": message}
            conditions.append(condition | {"lastTransitionTime": since})
        # It applies only to the version of the request that was read.
        version = {"resourceVersion": request.metadata.resource_version}
        patch = {"metadata": version, "status": {"conditions": conditions, **more}}
        await client.merge_patch(REQUESTS, request.metadata.name, patch, request.metadata.namespace, "status")

    if node is None or SIMULATED not in node["metadata"].get("labels", {}):
        await report("False", "False", "NodeNotFound", f"There is no simulated node {name}.")
    elif before is None:
        message, boot = f"Switching {name} off and on.", reported_boot(node)
        await report("True", "Unknown", "PowerCycling", message, bootIDBefore=boot)
    elif before != (boot := reported_boot(node)):
        await report("False", "True", "PowerCycled", f"{name} runs again, with boot ID {boot}.")
    else:
        is_booting = boot_of(node) not in (None, before)
        is_off = boot_of(node) is None and POWER_ON_AT in node["metadata"].get("annotations", {})
        if not is_booting and not is_off:
            duration = timedelta(seconds=request.spec.power_off_seconds)
            await client.merge_patch(NODES, name, power_off(until=now + duration))


async def _node_of_machine(client: Client, request: PowerCycleRemediation) -> str | None:
    """The name of the Node of the request's Machine, if it has both."""
    owner = request.machine
    if owner is None:
        return None
    answer = await none_if_absent(client.get(MACHINES, owner.name, request.metadata.namespace))
    machine = MachineObject.model_validate(answer) if answer else None
    if machine is None or machine.metadata.uid != owner.uid or machine.status.node_ref is None:
        return None
    return machine.status.node_ref.name
