"""Detectors inside the test process, each of which can have its own connection to Temporal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from prometheus_client import CollectorRegistry

from detector.detector import Detector, build
from detector.handover import HandoverTimes
from devcluster.control_plane import ControlPlane
from health.policy.policy import DEFAULTS
from kube.connection import ClusterConnection, WorkloadConnections
from kube.resource import LEASES
from kube.transport import Transport
from runtime.connections import Connections
from runtime.problems import Problems
from runtime.process_names import LEADER_LEASE
from runtime.settings import Settings
from runtime.temporal_link import TemporalLink
from tests.support.story.policies import write_policy
from tests.support.story.world import World

QUICK = HandoverTimes(patience=timedelta(seconds=4), stand_back=timedelta(seconds=10))


class Detectors:
    """Detectors in this process; each connects to the current address of Temporal when it starts."""

    def __init__(self, world: World, control_plane: ControlPlane) -> None:
        self._world = world
        self._kubeconfig = str(control_plane.detector_kubeconfig)

    @asynccontextmanager
    async def running(
        self, identity: str, back_off_limit: timedelta = timedelta()
    ) -> AsyncIterator[Connections]:
        async with await Transport.connect(self._kubeconfig) as transport:
            problems = Problems()
            link = TemporalLink(identity, problems)
            await link.try_once()
            management = ClusterConnection.over(transport)
            made = Connections(
                management=management,
                workload_clusters=WorkloadConnections(management.client),
                cluster=self._world.cluster,
                temporal=link,
                problems=problems,
                metrics=CollectorRegistry(),
            )
            await write_policy(self._world.client, f"backOffLimit: {back_off_limit.total_seconds():g}s")
            settings = Settings(cluster="test", identity=identity)
            task = asyncio.create_task(Detector(build(settings, made, lambda: DEFAULTS), QUICK).run())
            try:
                yield made
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def until_led_by(self, identity: str) -> None:
        """Wait until that detector holds the leader's Lease."""

        async def is_led() -> bool:
            leases = await self._world.client.list(LEASES, "paramedic-system")
            holders = {lease["metadata"]["name"]: lease["spec"]["holderIdentity"] for lease in leases}
            return holders.get(LEADER_LEASE) == identity

        await self._world.until(is_led, f"{identity} never led")
