"""The activities for MachineHealthChecks of OpenShift: they delete or mark Machines, or make requests.

The controller of a deleted Machine replaces it; the consumer of a mark removes it (rule 28). Either write
carries the uid and the resourceVersion of the revalidation: a Machine that changed since is left alone, and
the incident asks again (rule 2).
"""

from collections.abc import Mapping
from dataclasses import replace

from activities.attempt import StepHeld
from activities.kind_activities import (
    ConfirmedStep,
    DeletionCounter,
    KindActivities,
    StepAction,
    StepWrite,
    TargetGone,
)
from activities.live_objects import LiveObjects
from activities.revalidation import not_true, target_as_read
from health.cluster.cluster_context import ClusterContext
from health.kinds.openshift.check import MachineHealthCheck
from health.kinds.openshift.kind import event_of_step, new_request
from health.kinds.openshift.machine import EXTERNAL_REMEDIATION, Machine, MachineTarget
from health.kinds.openshift.machine import MACHINES as KIND
from health.model.observation import HoldReason
from health.model.references import Action, TargetReference
from kube.errors import Conflict, KindUnknown, NotFound, RequestRefused
from kube.resource import Object, resource_of
from objects.event import Event

MACHINES = resource_of(KIND)
MachineStep = ConfirmedStep[MachineHealthCheck, MachineTarget]


class MachineActivities(KindActivities[MachineHealthCheck, MachineTarget]):
    """The reads and writes of MachineHealthChecks of OpenShift."""

    deletions = DeletionCounter(
        "mapi_machinehealthcheck_remediation_success",
        "Machines whose deletion was asked for, by the check that found them unhealthy.",
    )

    async def read_target(
        self,
        live: LiveObjects,
        reference: TargetReference,
        context: ClusterContext,  # noqa: ARG002  as KindActivities
    ) -> MachineTarget:
        """The Machine of that name, with any uid, and its Node."""
        found = await live.management.client.get(MACHINES, reference.name, reference.namespace)
        target = MachineTarget(Machine.model_validate(found))
        return replace(target, node=await live.node_of(target))

    async def new_request(self, step: MachineStep, template: Object) -> Object:
        machine = step.confirmed.target.machine
        return new_request(step.attempt, step.act.step, template=template, machine=machine)

    @property
    def actions(self) -> Mapping[str, StepAction[MachineHealthCheck, MachineTarget]]:
        return {Action.DELETE: _delete, Action.MARK: _mark}


async def _delete(step: MachineStep) -> StepWrite | None:
    """Delete the Machine, unless it is already being deleted."""
    target, metadata = step.confirmed.target, step.confirmed.target.metadata
    if target.machine.is_going:
        return None
    if target.machine.controller is None:
        message = f"no controller owns {metadata.name}, so nothing would replace it"
        raise StepHeld.because(HoldReason.NO_CONTROLLER, message)
    step.confirmed.refuse_other_step(step.act)

    async def write() -> Event:
        version, client = metadata.resource_version, step.live.management.client
        try:
            await client.delete(
                MACHINES, metadata.name, metadata.namespace, uid=metadata.uid, resource_version=version
            )
        except KindUnknown:
            raise
        except NotFound as error:
            raise TargetGone.because(HoldReason.NOT_TRUE, f"{metadata.name} is gone") from error
        except Conflict as error:
            raise not_true(f"{metadata.name} changed since the revalidation") from error
        except RequestRefused as error:
            refused = event_of_step(step.attempt, target, Action.DELETE, error.message)
            raise StepHeld.by(error, refused) from error
        return event_of_step(step.attempt, target, Action.DELETE)

    return write


async def _mark(step: MachineStep) -> StepWrite | None:
    """Mark the Machine, unless it has the mark."""
    target, metadata = step.confirmed.target, step.confirmed.target.metadata
    if target.machine.is_marked:
        return None
    step.confirmed.refuse_other_step(step.act)

    async def write() -> Event:
        version, client = metadata.resource_version, step.live.management.client
        patch: Object = {
            "metadata": {
                "uid": metadata.uid,
                "resourceVersion": version,
                "annotations": {EXTERNAL_REMEDIATION: ""},
            }
        }
        try:
            with target_as_read(step.act.incident.target):
                await client.merge_patch(MACHINES, metadata.name, patch, metadata.namespace)
        except Conflict as error:
            raise not_true(f"{metadata.name} changed since the revalidation") from error
        except RequestRefused as error:
            refused = event_of_step(step.attempt, target, Action.MARK, error.message)
            raise StepHeld.by(error, refused) from error
        return event_of_step(step.attempt, target, Action.MARK)

    return write
