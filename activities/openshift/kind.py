"""The entry of OpenShift in the registry of activities: Machines are deleted, marked or get requests."""

from activities.kind_activities import DeletionCounter, KindActivities, TemplateUse, attempt_of
from activities.live_objects import LiveObjects
from activities.openshift.actions import DeleteMachine, MarkMachine
from activities.openshift.target import machine_of, read_machine
from health.kinds.openshift.remediation_request import new_request
from health.model.references import Action
from kube.resource import Object


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
