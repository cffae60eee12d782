"""Reads a Machine with its Node from the API servers."""

from dataclasses import replace
from typing import cast

from activities.live_objects import LiveObjects
from activities.revalidation import Confirmed
from health.cluster.cluster_context import ClusterContext
from health.kinds.openshift.machine import MACHINES as KIND
from health.kinds.openshift.machine import Machine, MachineTarget
from health.model.references import TargetReference
from kube.resource import resource_of

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
