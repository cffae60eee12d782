"""The activities for MachineHealthChecks of OpenShift: they delete or mark Machines, or make requests.

The controller of a deleted Machine replaces it; the consumer of a mark removes it (rule 28). Either write
carries the uid and the resourceVersion of the revalidation: a Machine that changed since is left alone, and
the incident asks again (rule 2).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

from activities.attempt import StepHeld, StepResult
from activities.kind_activities import (
    DeletionCounter,
    KindActivities,
    TemplateUse,
    attempt_of,
)
from activities.live_objects import LiveObjects
from activities.revalidation import Confirmed, Revalidation, not_true, target_as_read
from activities.target_lease import LeaseGuard
from health.cluster.cluster_context import ClusterContext
from health.kinds.openshift.kind import deleted, deletion_failed, marked, marking_failed, new_request
from health.kinds.openshift.machine import EXTERNAL_REMEDIATION, Machine, MachineTarget
from health.kinds.openshift.machine import MACHINES as KIND
from health.model.observation import HoldReason
from health.model.references import Action, TargetReference
from health.model.remediation_request import RemediationAttempt
from kube.errors import Conflict, KindUnknown, NotFound, RequestRefused
from kube.resource import Object, resource_of
from objects.event import Event
from workflows.contracts import ActInput, ActResult

MACHINES = resource_of(KIND)


def machine_of(confirmed: Confirmed) -> MachineTarget:
    return cast("MachineTarget", confirmed.target)


async def read_machine(
    live: LiveObjects,
    reference: TargetReference,
    context: ClusterContext,  # noqa: ARG001  as TargetReader
) -> MachineTarget:
    """The Machine of that name, with any uid, and its Node."""
    found = await live.management.client.get(MACHINES, reference.name, reference.namespace)
    target = MachineTarget(Machine.model_validate(found))
    return replace(target, node=await live.node_of(target))


@dataclass(frozen=True)
class DeleteMachine:
    """The action Action.DELETE for Machines of OpenShift."""

    revalidation: Revalidation
    lease_guard: LeaseGuard

    async def take(self, act: ActInput) -> StepResult:
        """Delete it, unless it is already being deleted."""
        # Read, compare and guard.
        client = self.revalidation.live.management.client
        began = self.lease_guard.begin()
        confirmed = await self.revalidation.confirm(act)
        target = machine_of(confirmed)
        machine = target.metadata
        if target.machine.is_going:
            return StepResult(ActResult.disrupted())
        if target.machine.controller is None:
            message = f"no controller owns {machine.name}, so nothing would replace it"
            raise StepHeld.because(HoldReason.NO_CONTROLLER, message)
        confirmed.refuse_other_step(act)
        # Lease and delete.
        was_there, version = True, machine.resource_version
        async with self.lease_guard.lease(act, confirmed, began) as acquired:
            try:
                with _judged(act, target, deletion_failed):
                    await client.delete(
                        MACHINES, machine.name, machine.namespace, uid=machine.uid, resource_version=version
                    )
            except KindUnknown:
                raise
            except NotFound:
                was_there = False
        if was_there:
            return StepResult(ActResult.disrupted(acquired), deleted(attempt_of(act), target))
        await self.lease_guard.release(act)
        return StepResult(ActResult.disrupted())


@dataclass(frozen=True)
class MarkMachine:
    """The action Action.MARK for Machines of OpenShift."""

    revalidation: Revalidation
    lease_guard: LeaseGuard

    async def take(self, act: ActInput) -> StepResult:
        # Read, compare and guard.
        client = self.revalidation.live.management.client
        began = self.lease_guard.begin()
        confirmed = await self.revalidation.confirm(act)
        target = machine_of(confirmed)
        machine = target.metadata
        if target.machine.is_marked:
            return StepResult(ActResult.disrupted())
        confirmed.refuse_other_step(act)
        # Lease and mark.
        metadata = {
            "uid": machine.uid,
            "resourceVersion": machine.resource_version,
            "annotations": {EXTERNAL_REMEDIATION: ""},
        }
        async with self.lease_guard.lease(act, confirmed, began) as acquired:
            with target_as_read(act.incident.target), _judged(act, target, marking_failed):
                patch: Object = {"metadata": metadata}
                await client.merge_patch(MACHINES, machine.name, patch, machine.namespace)
        return StepResult(ActResult.disrupted(acquired), marked(attempt_of(act), target))


@contextmanager
def _judged(
    act: ActInput, target: MachineTarget, failed: Callable[[RemediationAttempt, MachineTarget, str], Event]
) -> Iterator[None]:
    """Write to a Machine as it was at the revalidation; `failed` makes the Event of a refusal.

    Raises:
        StepHeld: it has changed since, or the API server refuses.

    """
    try:
        yield
    except Conflict as error:
        raise not_true(f"{target.metadata.name} changed since the revalidation") from error
    except RequestRefused as error:
        raise StepHeld.by(error, failed(attempt_of(act), target, error.message)) from error


async def request_for_machine(live: LiveObjects, use: TemplateUse) -> Object:  # noqa: ARG001  as KindActivities
    act, confirmed, template = use
    machine = machine_of(confirmed).machine
    return new_request(attempt_of(act), act.step, template=template, machine=machine)


MACHINE_ACTIVITIES = KindActivities(
    read_target=read_machine,
    new_request=request_for_machine,
    actions={Action.DELETE: DeleteMachine, Action.MARK: MarkMachine},
    deletions=DeletionCounter(
        "mapi_machinehealthcheck_remediation_success",
        "Machines whose deletion was asked for, by the check that found them unhealthy.",
    ),
)
