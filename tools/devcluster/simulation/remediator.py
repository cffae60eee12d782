"""The demo remediator: it power-cycles the simulated nodes of its requests.

Each round reads all requests and takes one step for each unfinished one. The decision and the patches are
pure. The status of the request keeps the boot ID from before the power cycle: a node with another boot ID has
been power-cycled, whatever happened to the remediator meanwhile. The node itself switches on again, so a
deleted request leaves no node off.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import Field

from devcluster.simulation.machine_api import MachineObject
from devcluster.simulation.nodes import POWER_ON_AT, SIMULATED, boot_of, power_off, reported_boot
from devcluster.simulation.resources import MACHINES, REQUESTS
from kube.client import Client
from kube.errors import Conflict, NotFound
from kube.resource import NODES, Object
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


@dataclass(frozen=True)
class Begin:
    """Record the boot ID and report that the work is in progress."""

    boot_id: str


@dataclass(frozen=True)
class PowerCycle:
    """Switch the node off, and on again after this time."""

    power_off: timedelta


@dataclass(frozen=True)
class Succeed:
    """Report that the node has another boot ID now."""

    boot_id: str


@dataclass(frozen=True)
class Fail:
    """Report why the node cannot be power-cycled."""

    reason: str
    message: str


Step = Begin | PowerCycle | Succeed | Fail


def next_step(request: PowerCycleRemediation, name: str, node: Object | None) -> Step | None:
    """The next step, by the request and its Node; None if there is nothing to do now."""
    if request.is_over:
        return None
    if node is None or SIMULATED not in node["metadata"].get("labels", {}):
        return Fail("NodeNotFound", f"There is no simulated node {name}.")
    before = request.status.boot_id_before
    if before is None:
        return Begin(reported_boot(node))
    if before != reported_boot(node):
        return Succeed(reported_boot(node))
    is_booting = boot_of(node) not in (None, before)
    is_off = boot_of(node) is None and POWER_ON_AT in node["metadata"].get("annotations", {})
    if is_booting or is_off:
        return None
    return PowerCycle(timedelta(seconds=request.spec.power_off_seconds))


def status_patch(
    request: PowerCycleRemediation, node: str, step: Begin | Succeed | Fail, now: datetime
) -> Object:
    """The merge patch of the status; it applies only to the version of the request that was read."""
    processing, succeeded = "False", "False"
    match step:
        case Begin():
            processing, succeeded = "True", "Unknown"
            reason, message = "PowerCycling", f"Switching {node} off and on."
        case Succeed(boot_id=boot_id):
            succeeded = "True"
            reason, message = "PowerCycled", f"{node} runs again, with boot ID {boot_id}."
        case Fail():
            reason, message = step.reason, step.message
    shown = {condition.type: condition for condition in request.status.conditions}
    conditions = []
    for type_, status in (("Processing", processing), ("Succeeded", succeeded)):
        old = shown.get(type_)
        since = old.last_transition_time if old and old.status == status else stamp(now)
        condition = {"type": type_, "status": status, "reason": reason, "message": message}
        conditions.append(condition | {"lastTransitionTime": since})
    changed: Object = {"conditions": conditions}
    if isinstance(step, Begin):
        changed["bootIDBefore"] = step.boot_id
    return {"metadata": {"resourceVersion": request.metadata.resource_version}, "status": changed}


async def remediate(client: Client) -> None:
    """Take one step for each unfinished request. Raises KubernetesError."""
    for stored in await client.list(REQUESTS):
        request = PowerCycleRemediation.model_validate(stored)
        if not request.is_over:
            with suppress(NotFound, Conflict):  # it has changed since, and the next round reads it again
                await _take_step(client, request)


async def _take_step(client: Client, request: PowerCycleRemediation) -> None:
    name = request.node(await _node_of_machine(client, request))
    try:
        node = await client.get(NODES, name)
    except NotFound:
        node = None
    now = datetime.now(UTC)
    match next_step(request, name, node):
        case None:
            return
        case PowerCycle(power_off=duration):
            await client.merge_patch(NODES, name, power_off(until=now + duration))
        case step:
            at, patch = request.metadata, status_patch(request, name, step, now)
            await client.merge_patch(REQUESTS, at.name, patch, at.namespace, "status")


async def _node_of_machine(client: Client, request: PowerCycleRemediation) -> str | None:
    """The name of the Node of the request's Machine, if it has both."""
    if request.machine is None:
        return None
    try:
        answer = await client.get(MACHINES, request.machine.name, request.metadata.namespace)
    except NotFound:
        return None
    machine = MachineObject.model_validate(answer)
    if machine.metadata.uid != request.machine.uid or machine.status.node_ref is None:
        return None
    return machine.status.node_ref.name
