"""Reads the state of the management cluster for the scenario `cluster-api`; None means not yet.

Every method raises KubernetesError.
"""

import asyncio
from datetime import timedelta

from devcluster.demo import cluster_api_fixtures
from devcluster.demo.cluster_api_fixtures import API
from devcluster.demo.cluster_view import ClusterView
from devcluster.demo.errors import DemoFailedError
from devcluster.demo.facts import MachineSeen, MarkSeen
from devcluster.demo.fixtures import CHECK, MACHINES, NAMESPACE, ensure
from devcluster.simulation.cluster_api import GROUP, SET_NAME
from devcluster.simulation.machine_conditions import HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED
from devcluster.simulation.machine_object import RUNNING, MachineObject
from kube.client import Client
from kube.errors import NotFound

BETWEEN_LOOKS = timedelta(milliseconds=20)
"""Short, because a mark exists only until the owner deletes the Machine."""


class ClusterApiView:
    """The Machines of the demo's MachineSet, in the management cluster."""

    def __init__(self, management: Client, workload: ClusterView) -> None:
        self._client = management
        self._workload = workload

    async def set_up(self) -> bool:
        """Create MachineSet and check; objects of an earlier demo are reused."""
        await ensure(self._client, API.machine_sets, cluster_api_fixtures.machine_set(), NAMESPACE)
        check = cluster_api_fixtures.machine_health_check()
        await ensure(self._client, API.machine_health_checks, check, NAMESPACE)
        return True

    async def healthy_machines(self) -> list[MachineSeen] | None:
        """All Machines, once they are complete and run, and the check counts them as healthy."""
        machines = await self._running()
        check = await self._client.get(API.machine_health_checks, CHECK, NAMESPACE)
        status = check.get("status", {})
        counts = [len(machines), status.get("expectedMachines"), status.get("currentHealthy")]
        return machines if counts == [MACHINES] * len(counts) else None

    async def mark_of(self, machine: MachineSeen) -> MarkSeen:
        """The mark on that Machine; raises DemoFailedError if the Machine is deleted before."""
        while (found := await self._find(machine)) is not None:
            failed, asked = found.condition(HEALTH_CHECK_SUCCEEDED), found.condition(OWNER_REMEDIATED)
            if failed.status == asked.status == "False":
                return MarkSeen(failed.reason, failed.message)
            await asyncio.sleep(BETWEEN_LOOKS.total_seconds())
        raise DemoFailedError(f"Machine {machine.name} was deleted before its mark was seen.")

    async def end_of(self, machine: MachineSeen) -> bool | None:
        """True once that Machine is gone, else None."""
        return True if await self._find(machine) is None else None

    async def newcomer_to(self, fleet: list[MachineSeen]) -> MachineSeen | None:
        """The Machine that was not in `fleet`, once all are healthy."""
        names = {machine.name for machine in fleet}
        now = await self.healthy_machines() or []
        return next((machine for machine in now if machine.name not in names), None)

    async def _running(self) -> list[MachineSeen]:
        """The Machines of the set that run on Ready nodes of the workload cluster."""
        nodes = await self._workload.ready_nodes()
        running = []
        for stored in await self._client.list(API.machines, NAMESPACE, f"{SET_NAME}={CHECK}"):
            machine = MachineObject.model_validate(stored)
            node = nodes.get(machine.status.node_ref.name) if machine.status.node_ref else None
            if node and machine.status.phase == RUNNING and not machine.is_being_deleted:
                running.append(MachineSeen(machine.metadata.name, machine.metadata.uid, node, GROUP))
        return running

    async def _find(self, machine: MachineSeen) -> MachineObject | None:
        try:
            stored = await self._client.get(API.machines, machine.name, NAMESPACE)
        except NotFound:
            return None
        found = MachineObject.model_validate(stored)
        return found if found.metadata.uid == machine.uid else None
