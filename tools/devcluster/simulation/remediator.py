"""`python -m devcluster.simulation.remediator`: power-cycles the simulated nodes of its requests.

It works on each unfinished request when that appears or changes: it reads, decides, takes one step, writes
the status, and repeats. The decision and the patches are pure. Each step begins with a fresh read, so a
killed remediator continues from any point. The status of the request keeps the boot ID from before the power
cycle: a node with another boot ID has been power-cycled, whatever happened to the remediator meanwhile.

It finds the API server like kubectl. It sets no finalizer: a deleted request is forgotten, and its power
cycle is still completed. SIGTERM and SIGINT end the process.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from devcluster.errors import DevclusterError
from devcluster.simulation.control_socket import PowerSwitch
from devcluster.simulation.controller import Controller, NoAction
from devcluster.simulation.machine_object import MachineObject
from devcluster.simulation.resources import MACHINES, REQUESTS
from devcluster.simulation.termination import run_until_terminated
from kube.client import Client
from kube.errors import KubernetesError, NotFound
from kube.record import Change, Key
from kube.reflector import Reflector
from kube.transport import Transport
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata, OwnerReference
from objects.timestamps import stamp

NODE_NAME = "remediation.medik8s.io/node-name"
TIMED_OUT = "remediation.medik8s.io/nhc-timed-out"

ConditionStatus = Literal["True", "False", "Unknown"]


class PowerCycleCondition(FrozenObject):
    """A metav1.Condition in the status of a request."""

    type: str
    status: ConditionStatus
    reason: str
    message: str
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

    def node(self, of_machine: str = "") -> str:
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


def moved(shown: Sequence[PowerCycleCondition], new: PowerCycleCondition) -> PowerCycleCondition:
    """`new`, with the `shown` transition time if its status has not changed."""
    before = next((condition for condition in shown if condition.type == new.type), None)
    if before is None or before.status != new.status:
        return new
    return new.model_copy(update={"last_transition_time": before.last_transition_time})


@dataclass(frozen=True)
class Begin:
    """Record the boot ID and report that the work is in progress."""

    boot_id: str


@dataclass(frozen=True)
class SwitchOffAndOn:
    """Power-cycle the node, off for this time."""

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


Step = NoAction | Begin | SwitchOffAndOn | Succeed | Fail


def next_step(request: PowerCycleRemediation, node: str, boot_ids: Mapping[str, str]) -> Step:
    """The next step, by the request, its node, and the present boot ID of each node."""
    if request.is_over:
        return NoAction()
    boot_id = boot_ids.get(node)
    if boot_id is None:
        return Fail("NodeNotFound", f"There is no simulated node {node}.")
    before = request.status.boot_id_before
    if before is None:
        return Begin(boot_id)
    if before != boot_id:
        return Succeed(boot_id)
    return SwitchOffAndOn(timedelta(seconds=request.spec.power_off_seconds))


@dataclass(frozen=True)
class _Report:
    processing: ConditionStatus
    succeeded: ConditionStatus
    reason: str
    message: str


def status_patch(
    request: PowerCycleRemediation, node: str, step: Begin | Succeed | Fail, now: datetime
) -> dict[str, Any]:
    """The merge patch of the status; it applies only to the version of the request that was read."""
    report = _report_of(node, step)
    new_conditions = (
        _condition("Processing", report.processing, report, now),
        _condition("Succeeded", report.succeeded, report, now),
    )
    shown = request.status.conditions
    conditions = [moved(shown, c).model_dump(by_alias=True) for c in new_conditions]
    status: dict[str, Any] = {"conditions": conditions}
    if isinstance(step, Begin):
        status["bootIDBefore"] = step.boot_id
    return {"metadata": {"resourceVersion": request.metadata.resource_version}, "status": status}


def _report_of(node: str, step: Begin | Succeed | Fail) -> _Report:
    match step:
        case Begin():
            return _Report("True", "Unknown", "PowerCycling", f"Switching {node} off and on.")
        case Succeed(boot_id=boot_id):
            return _Report("False", "True", "PowerCycled", f"{node} runs again, with boot ID {boot_id}.")
        case Fail(reason=reason, message=message):
            return _Report("False", "False", reason, message)


def _condition(type_: str, status: ConditionStatus, report: _Report, now: datetime) -> PowerCycleCondition:
    return PowerCycleCondition(
        type=type_,
        status=status,
        reason=report.reason,
        message=report.message,
        last_transition_time=stamp(now),
    )


class PowerCycleReconciler:
    """Does for a request what a remediator does."""

    def __init__(self, client: Client, switch: PowerSwitch) -> None:
        self._client = client
        self._switch = switch

    async def carry_out(self, key: Key) -> None:
        """Work until the request has finished or is gone; raises KubernetesError and SimulationError."""
        try:
            while await self._one_step(key):
                pass
        except NotFound:
            return

    async def _one_step(self, key: Key) -> bool:
        """True if there may be another step."""
        answer = await self._client.get(REQUESTS, key.name, key.namespace)
        request = PowerCycleRemediation.model_validate(answer)
        node = request.node(await self._node_of_machine(request))
        step = next_step(request, node, await self._switch.boot_ids())
        if isinstance(step, NoAction):
            return False
        await self._do(request, node, step, key)
        return True

    async def _node_of_machine(self, request: PowerCycleRemediation) -> str:
        """The name of the Node of the request's Machine; "" if there is none."""
        if request.machine is None:
            return ""
        try:
            answer = await self._client.get(MACHINES, request.machine.name, request.metadata.namespace)
        except NotFound:
            return ""
        machine = MachineObject.model_validate(answer)
        if machine.metadata.uid != request.machine.uid or machine.status.node_ref is None:
            return ""
        return machine.status.node_ref.name

    async def _do(self, request: PowerCycleRemediation, node: str, step: Step, key: Key) -> None:
        match step:
            case SwitchOffAndOn(power_off=power_off):
                await self._switch.power_cycle(node, power_off)
            case NoAction():
                return
            case _:
                patch = status_patch(request, node, step, datetime.now(UTC))
                await self._client.merge_patch(REQUESTS, key.name, patch, key.namespace, "status")


FIELD_MANAGER = "demo-remediator"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until a signal; exits with one sentence on an error."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        asyncio.run(run_until_terminated(_run(options.control)))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(f"remediator: {error}")


async def remediate(transport: Transport, control: Path) -> None:
    """Execute requests until cancelled; `control` is the control socket of the kubelets."""
    async with asyncio.TaskGroup() as tasks:
        remediation = PowerCycleReconciler(Client(transport, FIELD_MANAGER), PowerSwitch(control))
        controller = Controller("request", remediation.carry_out, tasks)

        def notice(change: Change[PowerCycleRemediation]) -> None:
            """Queue a request that appeared or changed, unless it is over."""
            if change.new is not None and not change.new.is_over:
                controller.enqueue(change.key)

        await Reflector(transport, REQUESTS, decode=PowerCycleRemediation, notify=notice).run()


async def _run(control: Path) -> None:
    async with await Transport.connect(user_agent=FIELD_MANAGER) as transport:
        await remediate(transport, control)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="remediator", description="Demo remediator of simulated nodes.")
    parser.add_argument("--control", type=Path, required=True, help="control socket of the kubelets")
    return parser


if __name__ == "__main__":
    main()
