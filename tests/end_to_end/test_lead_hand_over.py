"""Two detectors, of which the leading one is cut off from Temporal: the other goes on with the incidents."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from detector.detector import Detector
from detector.handover import HandoverTimes
from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from kube.candidates import CandidateTimes
from kube.client import Client
from kube.resource import LEASES
from kube.transport import Transport
from runtime.connections import Connections
from runtime.problems import Problems
from runtime.process_names import LEADER_LEASE
from runtime.settings import Settings
from runtime.temporal_link import TemporalLink
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.world import World
from tests.kube.faults.tcp_proxy import TcpProxy

pytestmark = pytest.mark.cluster

QUICK = HandoverTimes(
    fit=timedelta(seconds=2),
    patience=timedelta(seconds=4),
    candidates=CandidateTimes(
        settled=timedelta(seconds=0.5),
        renewal=timedelta(seconds=0.5),
        look=timedelta(seconds=0.1),
        steady=timedelta(seconds=1),
    ),
)


class Detectors:
    """Detectors in this process, that hear of Temporal by the address that holds when they begin."""

    def __init__(self, world: World, control_plane: ControlPlane) -> None:
        self._world = world
        self._kubeconfig = str(control_plane.detector_kubeconfig)

    @asynccontextmanager
    async def running(self, identity: str) -> AsyncIterator[Connections]:
        async with await Transport.connect(self._kubeconfig) as transport:
            problems = Problems()
            link = TemporalLink(identity, problems)
            await link.try_once()
            made = Connections(
                transport, Client(transport), self._world.cluster, link, problems, CollectorRegistry()
            )
            settings = Settings(cluster="test", identity=identity, back_off_limit_seconds=0)
            task = asyncio.create_task(Detector(settings, made, QUICK).run())
            try:
                yield made
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def until_led_by(self, identity: str) -> None:
        async def is_led() -> bool:
            leases = await self._world.client.list(LEASES, "paramedic-system")
            holders = {lease["metadata"]["name"]: lease["spec"]["holderIdentity"] for lease in leases}
            return holders.get(LEADER_LEASE) == identity

        await self._world.until(is_led, f"{identity} never led")


@pytest.fixture
def detectors(world: World, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Detectors:
    monkeypatch.setattr("runtime.temporal_link.CHECK_EVERY_SECONDS", 0.3)
    monkeypatch.setattr("runtime.temporal_link.ANSWER_WITHIN", timedelta(seconds=1))
    return Detectors(world, control_plane)


@pytest.mark.rule("decision 1")
async def test_standby_that_reaches_temporal_takes_over_from_a_leader_that_does_not(
    world: World,
    paramedic: Paramedic,
    detectors: Detectors,
    temporal_server: TemporalServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEMPORAL_NAMESPACE", temporal_server.namespace)
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await paramedic.worker.start_ready()
    async with TcpProxy(f"http://{temporal_server.address}") as proxy:
        monkeypatch.setenv("TEMPORAL_ADDRESS", proxy.address)
        async with detectors.running("first") as first:
            await detectors.until_led_by("first")
            monkeypatch.setenv("TEMPORAL_ADDRESS", temporal_server.address)
            async with detectors.running("second") as second:
                proxy.hold()
                await detectors.until_led_by("second")
                assert first.problems.sentences
                await world.fail(node)
                await world.until_requested(node)

                proxy.let_go()
                await world.recover(node)
                assert await world.outcome(node) == "Remediated"
                await detectors.until_led_by("second")
                assert not second.problems.sentences
