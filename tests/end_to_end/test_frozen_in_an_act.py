"""A worker freezes during its acts; meanwhile a user orders an abort, and another worker obeys it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from kube.resource import LEASES
from tests.support.api.tcp_proxy import TcpProxy
from tests.support.cluster.processes import OurProcess, our_process
from tests.support.story.paramedic import Paramedic
from tests.support.story.slow_create import slow_create
from tests.support.story.world import World
from tests.support.values.metric_samples import named, series

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

Check = Callable[[], Awaitable[bool]]

LATENCY = timedelta(milliseconds=40)
STALE = series("paramedic_acts_total", result="Held", reason="StaleFacts")
LONG_AGO = timedelta(minutes=1)
PATIENCE, SECONDS = timedelta(seconds=60), timedelta(seconds=30)


@pytest.fixture
async def successor(
    cluster_name: str,
    world: World,  # noqa: ARG001  it ends later
    control_plane: ControlPlane,
    temporal_server: TemporalServer,
    tmp_path: Path,
) -> AsyncIterator[OurProcess]:
    worker = our_process("worker", cluster_name, control_plane, temporal_server, tmp_path, alias="successor")
    yield worker
    await worker.stop()


def _is_order_to_act(node: str, piece: bytes) -> bool:
    """True if these bytes give a worker the task to act for that node, also inside a history."""
    return b'"holds_lease"' in piece and node.encode() in piece


async def _in_time(waited_for: Awaitable[object]) -> None:
    async with asyncio.timeout(PATIENCE.total_seconds()):
        await waited_for


async def _fail(world: World, node: str) -> None:
    await world.set_ready(node, "Unknown", datetime.now(UTC) - LONG_AGO)


def _has_appeared(world: World, node: str) -> Check:
    async def has_appeared() -> bool:
        return world.requests.created(node) == 1

    return has_appeared


def _have_ended(worker: OurProcess, acts: int) -> Check:
    async def have_ended() -> bool:
        return sum(named(await worker.metrics(), "paramedic_acts_total").values()) == acts

    return have_ended


@pytest.mark.rule("rule 4", "rule 41", "rule 41/late")
async def test_worker_that_was_frozen_in_its_acts_makes_no_request_after_another_has_obeyed_an_abort(
    world: World,
    paramedic: Paramedic,
    successor: OurProcess,
    temporal_server: TemporalServer,
    tmp_path: Path,
) -> None:
    """The worker freezes before it reads the order, before the request, and after the request is sent."""
    worker = paramedic.worker
    unread, leasing, requesting = nodes = await world.add_nodes(3)
    await world.add_check()
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(TcpProxy(f"http://{temporal_server.address}", latency=LATENCY))
        worker.environment["TEMPORAL_ADDRESS"] = line.address
        lease = await stack.enter_async_context(
            slow_create(world.client, f"node-{leasing}", tmp_path, of=LEASES)
        )
        request = await stack.enter_async_context(slow_create(world.client, requesting, tmp_path))
        await paramedic.start()

        await asyncio.gather(_fail(world, leasing), _fail(world, requesting))
        await asyncio.gather(lease.until_in_flight(), request.until_in_flight())
        is_on_its_way = line.hold_when(partial(_is_order_to_act, unread))
        await _fail(world, unread)
        await _in_time(is_on_its_way.wait())
        worker.freeze()
        line.let_go()
        line.hang_up()  # else Temporal would keep giving it tasks, for ten seconds each
        lease.let_go()

        await successor.start_ready()
        aborts = [(await world.workflow(node)).execute_update("abort") for node in nodes]
        await _in_time(asyncio.gather(*aborts))
        for node in nodes:
            await world.until_phase(node, "LeftAlone")
        await world.until_clean(*nodes)
        assert [world.requests.created(node) for node in nodes] == [0, 0, 0]

        request.let_go()
        world.patience = SECONDS
        await world.until(_has_appeared(world, requesting), "the request that was sent is not there")
        await world.until_clean(*nodes)

        worker.thaw()
        await world.until(_have_ended(worker, len(nodes)), "an act never ends")
        assert (await worker.metrics())[STALE] == 1
        await world.until_clean(*nodes)
    assert [world.requests.created(node) for node in nodes] == [0, 0, 1]
    for node in nodes:
        await world.until_phase(node, "LeftAlone")
