"""Live targets: each kind of target as the API server has it now, with all that its checks judge by."""

from collections.abc import Awaitable, Callable, Mapping

from health.kinds.openshift.machine import Machine, MachineTarget
from health.model.node import Node
from health.model.references import TargetReference
from health.model.target import Target
from kube.connection import ClusterConnection
from kube.errors import KindUnknown, NotFound
from kube.resource import MACHINES, NODES, Resource

TARGETS: Mapping[str, Resource] = {resource.kind: resource for resource in (NODES, MACHINES)}
"""Where targets are, by their kind."""


class LiveTargets:
    """Reads one target at a time, afresh."""

    def __init__(self, connection: ClusterConnection) -> None:
        self._client = connection.client
        self._readers: Mapping[str, Callable[[TargetReference], Awaitable[Target]]] = {
            NODES.kind: self._node,
            MACHINES.kind: self._machine,
        }

    async def read(self, reference: TargetReference) -> Target:
        """The target of that name, whatever uid it has.

        Raises:
            KubernetesError: as the client does; NotFound also where the target is no more.
            ValidationError: it cannot be read.

        """
        return await self._readers[reference.kind](reference)

    async def _node(self, reference: TargetReference) -> Node:
        return Node.model_validate(await self._client.get(NODES, reference.name))

    async def _machine(self, reference: TargetReference) -> MachineTarget:
        found = await self._client.get(MACHINES, reference.name, reference.namespace)
        machine = Machine.model_validate(found)
        return MachineTarget(machine, await self._node_of(machine))

    async def _node_of(self, machine: Machine) -> Node | None:
        """None: the API server itself says that it is not there (rule 26)."""
        if not machine.node_name:
            return None
        try:
            return Node.model_validate(await self._client.get(NODES, machine.node_name))
        except KindUnknown:
            raise
        except NotFound:
            return None
