"""The entry of NodeHealthCheck in the registry of activities: its targets are Nodes, its steps requests.

The Machine of a Node is a second owner of its request if both are in one namespace (NHC 2.4/3). A person's
confirmation that a Node is healthy is removed when its incident has cleaned up (NHC 2.6).
"""

from contextlib import suppress
from typing import cast

from activities.kind_activities import KindActivities, TemplateUse, attempt_of
from activities.live_objects import LiveObjects
from health.cluster.cluster_context import ClusterContext
from health.kinds.nodehealthcheck.remediation_request import new_request
from health.model.node import CONFIRMED_HEALTHY, Node
from health.model.references import TargetReference, TemplateReference
from kube.client import Client
from kube.discovery import KindName
from kube.errors import Conflict, Invalid, KindUnknown, NotFound, none_if_absent
from kube.resource import NODES, Object
from objects.metadata import OwnerReference

MACHINES = KindName("machine.openshift.io/v1beta1", "Machine")


async def read_node(
    live: LiveObjects,
    reference: TargetReference,
    context: ClusterContext,  # noqa: ARG001  as TargetReader
) -> Node:
    return Node.model_validate(await live.management.client.get(NODES, reference.name))


async def request_for_node(live: LiveObjects, use: TemplateUse) -> Object:
    act, confirmed, template = use
    node = cast("Node", confirmed.target)
    machine = await machine_owner(live, node, act.step.template)
    return new_request(
        attempt_of(act), act.step, template=template, check=confirmed.owner, machine=machine, node=node
    )


async def machine_owner(live: LiveObjects, node: Node, template: TemplateReference) -> OwnerReference | None:
    """The node's Machine; None if it has none that could own a request of `template`.

    Raises KubernetesError: the API server could not be asked.
    """
    namespace, _, name = node.metadata.annotations.machine.partition("/")
    if not name or namespace != template.namespace:
        return None
    try:
        resource = await live.management.discovery.resource(MACHINES.api_version, MACHINES.kind)
    except KindUnknown:
        return None
    machine = await none_if_absent(live.management.client.get(resource, name, namespace))
    if machine is None:
        return None
    return OwnerReference(
        api_version=MACHINES.api_version, kind=MACHINES.kind, name=name, uid=machine["metadata"]["uid"]
    )


async def remove_confirmation(client: Client, node: TargetReference) -> None:
    """Remove the annotation from this Node; a Node with another uid is left alone."""
    patch = {"metadata": {"uid": node.uid, "annotations": {CONFIRMED_HEALTHY: None}}}
    try:
        await client.merge_patch(NODES, node.name, patch)
    except NotFound:
        return
    except (Conflict, Invalid):  # the answers to another uid, but not only to that, so look
        with suppress(NotFound):
            found = await client.get(NODES, node.name)
            if found["metadata"]["uid"] == node.uid:
                raise


NODE_ACTIVITIES = KindActivities(
    read_target=read_node, new_request=request_for_node, remove_confirmation=remove_confirmation
)
