"""Acts are ordinary activities with one attempt: a failed act is a hold, then the incident asks again."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from tests.support.api.eventually import eventually
from tests.support.cluster.forked import fork
from tests.support.story import workers
from tests.support.story.fake_clusters import FakeClusters
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import settle
from tests.support.values.observations import expired, healthy
from tests.workflows import worker_in_the_middle
from tests.workflows.checked import checked
from workflows.contracts import FRESH

ASKS_AGAIN = timedelta(seconds=7)


async def test_act_that_failed_is_a_hold_and_the_same_act_is_made_anew_after_another_question(
    incident: IncidentDriver,
) -> None:
    incident.cluster.failing["act"] = 1
    await incident.start(expired())
    state = await incident.reaches(Phase.HELD)
    assert "Failed: the attempt to act failed: ConnectionError: the API server is away" in state.details
    assert state.memory.failing is not None
    assert state.memory.failing.hold.reason is HoldReason.FAILED
    assert incident.cluster.count("act") == 1

    await incident.pass_time(ASKS_AGAIN)
    await incident.reaches(Phase.REMEDIATING)
    whats = [entry.event for entry in incident.cluster.log]
    assert whats == ["answered", "act", *["observe", "answered"] * 2, "act", "created"]
    assert await incident.queued() == ["act", "observe", "observe", "act"]
    first, second = incident.cluster.attempts
    assert (first.run_id, first.step) == (second.run_id, second.step)


async def test_act_that_made_its_request_and_failed_then_is_adopted(incident: IncidentDriver) -> None:
    incident.cluster.failing["act"] = 1
    await incident.start(expired())
    await incident.happens("act")
    incident.cluster.put_request()
    await incident.pass_time(ASKS_AGAIN)
    state = await incident.reaches(Phase.REMEDIATING)
    assert [request.uid for request in state.requests] == ["request-1"]
    assert incident.cluster.count("act") == 1


async def test_worker_that_is_terminated_finishes_an_act_in_flight(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    gate = incident.cluster.gates["act"]
    gate.close()
    async with incident.detector():
        async with incident.worker(grace=FRESH):
            await incident.start(expired())
            await gate.entered.wait()
            asyncio.get_running_loop().call_later(0.5, gate.open)
        assert incident.cluster.count("created") == 1
        async with incident.worker():
            await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("act") == 1


@pytest.mark.rule("NHC 2.5/release", "NHC 2.7/restart")
async def test_worker_that_is_killed_in_the_middle_of_acts_leads_to_one_request_each_and_leaves_no_lease(
    three_incidents: list[IncidentDriver], tmp_path: Path
) -> None:
    before_its_request, after_its_request, recovers = three_incidents
    client, name, clusters = recovers.client, recovers.name, FakeClusters()
    for incident in three_incidents:
        clusters.add(incident.reference, incident.cluster)
    async with workers.detector(client, name, clusters.detector):
        async with _worker_in_the_middle_of_acts(three_incidents, tmp_path / "log"):
            request = after_its_request.cluster.put_request()
            after_its_request.cluster.note("created", request.created)
            recovers.cluster.leased_since = await recovers.now()
        await recovers.sees(healthy())
        async with workers.worker(client, name, clusters.worker):
            for incident in three_incidents:
                await settle(incident)  # Temporal times the acts out
            await before_its_request.pass_time(ASKS_AGAIN)
            for incident in (before_its_request, after_its_request):
                await incident.reaches(Phase.REMEDIATING)
                assert incident.cluster.count("created") == 1
                await incident.sees(healthy())
                assert await incident.outcome() is Outcome.REMEDIATED
            assert await recovers.outcome() is Outcome.RECOVERED
    assert recovers.cluster.count("clean_up") == 1
    assert not recovers.cluster.is_leased


async def test_orders_and_looks_that_come_in_the_middle_of_an_act_are_obeyed_in_order(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    await incident.wake()
    assert "Node/node-1" in await incident.hold()
    assert (await incident.state()).phase is Phase.ACTING
    await incident.handle.cancel()
    gate.open()
    await incident.reaches(Phase.LEFT_ALONE)
    assert incident.cluster.count("created") == incident.cluster.count("deleted") == 1
    assert (await incident.state()).memory.held


@pytest.fixture
async def three_incidents(
    time_skipping: WorkflowEnvironment, replayer: Replayer
) -> AsyncIterator[list[IncidentDriver]]:
    """They are of one cluster, and have no workers."""
    name = f"test-{uuid4().hex[:8]}"
    async with AsyncExitStack() as stack:
        drivers = [IncidentDriver(time_skipping, name, uid=str(uuid4())) for _ in range(3)]
        yield [await stack.enter_async_context(checked(driver, replayer)) for driver in drivers]


@asynccontextmanager
async def _worker_in_the_middle_of_acts(incidents: list[IncidentDriver], log: Path) -> AsyncIterator[None]:
    """Start the incidents, and kill the worker during their acts."""
    client = incidents[0].client
    where = (client.service_client.config.target_host, client.namespace, incidents[0].name)
    with log.open("wb") as out:
        process = fork(
            "worker", where, os.environ, out=out.fileno(), err=out.fileno(), entry=worker_in_the_middle.run
        )
    try:
        for number, incident in enumerate(incidents, 1):
            await incident.start(expired())
            await eventually(partial(_is_acting, log, number), 20)
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


def _is_acting(log: Path, number: int) -> bool:
    """True while that many acts are under way."""
    return log.read_text().count("acting\n") == number
