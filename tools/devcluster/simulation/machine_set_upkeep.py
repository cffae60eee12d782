"""Controls one MachineSet: read, decide, take one step, and repeat until nothing is to be done.

Each step begins with a fresh list of the Machines: an outdated one would lead to too many of them.
"""

import random

from devcluster.simulation import machine_upkeep
from devcluster.simulation.machine_set_decision import (
    Create,
    Delete,
    Step,
    UpdateReplicas,
    next_step,
)
from devcluster.simulation.no_action import NoAction
from devcluster.simulation.openshift_machine import OpenShiftMachine, OpenShiftMachineSet
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from health.model.node import Node
from kube.client import Client
from kube.errors import NotFound
from kube.record import Key
from kube.reflector import Reflector

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of names that API servers generate: without vowels, so without words."""

SUFFIX_LENGTH = 5


class MachineSetUpkeep:
    """Does for a MachineSet what the controller of OpenShift does."""

    def __init__(self, client: Client, nodes: Reflector[Node]) -> None:
        self._client = client
        self._nodes = nodes

    async def look_after(self, key: Key) -> None:
        """Work until the set is complete or gone; raises KubernetesError."""
        await self._nodes.wait_synced()
        try:
            while await self._one_step(key):
                pass
        except NotFound:
            return

    async def _one_step(self, key: Key) -> bool:
        """True if there may be another step."""
        answer = await self._client.get(MACHINE_SETS, key.name, key.namespace)
        machine_set = OpenShiftMachineSet.model_validate(answer)
        found = await self._client.list(MACHINES, key.namespace)
        machines = [OpenShiftMachine.model_validate(machine) for machine in found]
        step = next_step(machine_set, machines, ready_nodes(self._nodes))
        await self._do(step, machine_set)
        return not isinstance(step, NoAction)

    async def _do(self, step: Step, machine_set: OpenShiftMachineSet) -> None:
        at = machine_set.metadata
        match step:
            case Create(count=count):
                for _ in range(count):
                    machine = machine_upkeep.new_machine(machine_set, suffix())
                    await self._client.create(MACHINES, machine, at.namespace)
            case Delete(machines=machines):
                for surplus in machines:
                    of = surplus.metadata
                    await self._client.delete(MACHINES, of.name, of.namespace, uid=of.uid)
            case UpdateReplicas(status=status):
                patch = machine_upkeep.machine_set_status(machine_set, status)
                await self._client.merge_patch(MACHINE_SETS, at.name, patch, at.namespace, "status")
            case NoAction():
                return


def ready_nodes(nodes: Reflector[Node]) -> frozenset[str]:
    return frozenset(node.metadata.name for node in nodes.store.values() if _is_ready(node))


def _is_ready(node: Node) -> bool:
    return any((c.type, c.status) == ("Ready", "True") for c in node.status.conditions)


def suffix() -> str:
    """A random end for the name of a new Machine."""
    return "".join(random.choices(SUFFIX_LETTERS, k=SUFFIX_LENGTH))  # noqa: S311  a name, no secret
