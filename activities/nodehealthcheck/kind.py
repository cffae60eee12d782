"""The activities for NodeHealthChecks: their targets are Nodes, and their steps are requests.

The Machine of a Node is a second owner of its request if both are in one namespace (NHC 2.4/3). A person's
confirmation that a Node is healthy is removed when its incident has cleaned up (NHC 2.6).
"""

from contextlib import suppress

from activities.kind_activities import ConfirmedStep, KindActivities
from activities.live_objects import LiveObjects
from health.cluster.cluster_context import ClusterContext
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.kinds.nodehealthcheck.kind import new_request
from health.model.node import CONFIRMED_HEALTHY, Node
from health.model.references import TargetReference
from kube.client import Client
from kube.discovery import KindName
from kube.errors import Conflict, Invalid, KindUnknown, NotFound, none_if_absent
from kube.resource import NODES, Object
from objects.metadata import OwnerReference

MACHINES = KindName("machine.openshift.io/v1beta1", "Machine")


class NodeActivities(KindActivities[NodeHealthCheck, Node]):
    """The reads of NodeHealthChecks, and the contents of their requests."""

    async def read_target(
        self,
        live: LiveObjects,
        reference: TargetReference,
        context: ClusterContext,  # noqa: ARG002  as KindActivities
    ) -> Node:
        return Node.model_validate(await live.management.client.get(NODES, reference.name))

    async def new_request(self, step: ConfirmedStep[NodeHealthCheck, Node], template: Object) -> Object:
        """The request, owned by the check and by the Machine of the Node, if it has one there."""
        check, node, of = step.confirmed.owner, step.confirmed.target, step.act.step
        machine = await _machine_owner(step.live, node, of.template.namespace)
        return new_request(step.attempt, of, template=template, check=check, machine=machine, node=node)

    async def remove_confirmation(self, client: Client, target: TargetReference) -> None:
        """Remove the annotation from this Node; a Node with another uid is left alone."""
        patch = {"metadata": {"uid": target.uid, "annotations": {CONFIRMED_HEALTHY: None}}}
        try:
            await client.merge_patch(NODES, target.name, patch)
        except NotFound:
            return
        except (Conflict, Invalid):  # the answers to another uid, but not only to that, so look
            with suppress(NotFound):
                found = await client.get(NODES, target.name)
                if found["metadata"]["uid"] == target.uid:
                    raise


async def _machine_owner(live: LiveObjects, node: Node, request_namespace: str) -> OwnerReference | None:
    """The node's Machine; None if it has none that could own a request in that namespace.

    Raises KubernetesError: the API server could not be asked.
    """
    namespace, _, name = node.metadata.annotations.machine.partition("/")
    if not name or namespace != request_namespace:
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
