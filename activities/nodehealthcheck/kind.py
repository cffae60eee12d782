"""What the worker does for NodeHealthChecks: its targets are Nodes, and all that it does is requests."""

from typing import cast

from activities.attempt import attempt_of
from activities.kind_activities import KindActivities, TemplateUse
from activities.live_objects import LiveObjects
from activities.nodehealthcheck.confirmation import take_off_confirmation
from activities.nodehealthcheck.node_machine import NodeMachines
from health.kinds.nodehealthcheck.remediation_request import new_request
from health.model.node import Node
from health.model.references import TargetReference
from kube.resource import NODES, Object


async def read_node(live: LiveObjects, reference: TargetReference) -> Node:
    """The Node as the API server has it now."""
    return Node.model_validate(await live.client.get(NODES, reference.name))


async def request_for_node(live: LiveObjects, use: TemplateUse) -> Object:
    """The request for a Node; its Machine is a second owner."""
    asked, confirmed, template = use
    node = cast("Node", confirmed.target)
    machine = await NodeMachines(live.client, live.discovery).owner(node, asked.step.template)
    return new_request(
        attempt_of(asked), asked.step, template=template, check=confirmed.owner, machine=machine, node=node
    )


NODE_ACTIVITIES = KindActivities(
    read_target=read_node, new_request=request_for_node, take_off_confirmation=take_off_confirmation
)
