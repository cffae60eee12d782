"""The entry of Cluster API in the registry of activities: owners are asked, or requests made."""

from activities.clusterapi.actions import MarkMachine
from activities.clusterapi.target import machine_of, read_clusters, read_machine
from activities.kind_activities import KindActivities, TemplateUse, attempt_of
from activities.live_objects import LiveObjects
from health.kinds.clusterapi.remediation_request import new_request
from health.model.references import Action
from kube.resource import Object


async def request_for_machine(live: LiveObjects, use: TemplateUse) -> Object:  # noqa: ARG001  as KindActivities
    act, confirmed, template = use
    machine = machine_of(confirmed).machine
    return new_request(attempt_of(act), act.step, template=template, machine=machine)


CLUSTER_API_ACTIVITIES = KindActivities(
    read_target=read_machine,
    read_context=read_clusters,
    new_request=request_for_machine,
    actions={Action.MARK: MarkMachine},
)
