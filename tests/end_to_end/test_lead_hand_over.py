"""Of two detectors, the leader loses its connection to Temporal: the other one takes over the incidents."""

from datetime import timedelta

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from runtime.connections import Connections
from tests.end_to_end.detectors import Detectors
from tests.support.api.tcp_proxy import TcpProxy
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


@pytest.fixture
def detectors(world: World, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Detectors:
    monkeypatch.setattr("runtime.temporal_link.CHECK_EVERY_SECONDS", 0.3)
    monkeypatch.setattr("runtime.temporal_link.ANSWER_WITHIN", timedelta(seconds=3))
    return Detectors(world, control_plane)


@pytest.mark.rule("rule 1")
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
                await world.until(lambda: _is_well(first, expected=False), "the first says nothing of it")
                await world.fail(node)
                await world.until_requested(node)

                proxy.let_go()
                await world.recover(node)
                assert await world.outcome(node) == "Remediated"
                await detectors.until_led_by("second")
                await world.until(lambda: _is_well(second), "the second is not well")


async def _is_well(connections: Connections, *, expected: bool = True) -> bool:
    return (not connections.problems.sentences) is expected
