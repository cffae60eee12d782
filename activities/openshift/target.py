"""A Machine with its Node, as the API server has both now."""

from typing import cast

from activities.live_objects import LiveObjects
from activities.revalidation import Confirmed
from health.kinds.openshift.machine import MACHINES as KIND
from health.kinds.openshift.machine import Machine, MachineTarget
from health.model.node import Node
from health.model.references import TargetReference
from kube.client import Client
from kube.errors import KindUnknown, NotFound
from kube.resource import NODES, resource_of

MACHINES = resource_of(KIND)


def machine_of(confirmed: Confirmed) -> MachineTarget:
    """The target of a check of Machines."""
    return cast("MachineTarget", confirmed.target)


async def read_machine(live: LiveObjects, reference: TargetReference) -> MachineTarget:
    """The Machine of that name, whatever individual it is."""
    client = live.client
    machine = Machine.model_validate(await client.get(MACHINES, reference.name, reference.namespace))
    return MachineTarget(machine, await _node_of(client, machine))


async def _node_of(client: Client, machine: Machine) -> Node | None:
    """None: the API server itself says that it is not there (rule 26)."""
    if not machine.node_name:
        return None
    try:
        return Node.model_validate(await client.get(NODES, machine.node_name))
    except KindUnknown:
        raise
    except NotFound:
        return None
