"""A Machine with its Node, as the API servers have both now."""

from dataclasses import replace
from typing import cast

from activities.live_objects import LiveObjects
from activities.revalidation import Confirmed
from health.gate.cluster_context import ClusterContext
from health.kinds.openshift.machine import MACHINES as KIND
from health.kinds.openshift.machine import Machine, MachineTarget
from health.model.references import TargetReference
from kube.resource import resource_of

MACHINES = resource_of(KIND)


def machine_of(confirmed: Confirmed) -> MachineTarget:
    """The target of a check of Machines."""
    return cast("MachineTarget", confirmed.target)


async def read_machine(
    live: LiveObjects,
    reference: TargetReference,
    context: ClusterContext,  # noqa: ARG001  as TargetReader
) -> MachineTarget:
    """The Machine of that name, whatever uid it has."""
    found = await live.management.client.get(MACHINES, reference.name, reference.namespace)
    target = MachineTarget(Machine.model_validate(found))
    return replace(target, node=await live.node_of(target))
