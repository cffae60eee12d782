"""Acts are ordinary activities, tried once: one that fails is a hold, and is made anew after a question."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import expired, healthy
from tests.workflows.settling import settle
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
    whats = [entry.what for entry in incident.cluster.log]
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


async def test_worker_that_is_told_to_end_finishes_an_act_in_flight(bare_incident: IncidentDriver) -> None:
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


@pytest.mark.parametrize("has_created", [False, True], ids=["before-the-request", "after-the-request"])
async def test_worker_that_is_killed_in_the_middle_of_an_act_leads_to_one_request(
    bare_incident: IncidentDriver, *, has_created: bool
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with _worker_in_the_middle_of_an_act(incident):
            if has_created:
                request = incident.cluster.put_request()
                incident.cluster.note("created", request.created)
        async with incident.worker():
            await settle(incident)  # Temporal gives the act up when its time is over
            if not has_created:
                await incident.reaches(Phase.HELD)
                await incident.pass_time(ASKS_AGAIN)
            await incident.reaches(Phase.REMEDIATING)
            assert incident.cluster.count("created") == 1
            await incident.sees(healthy())
            assert await incident.outcome() is Outcome.REMEDIATED


@pytest.mark.rule("NHC 2.5/release", "NHC 2.7/restart")
async def test_lease_of_a_worker_that_was_killed_in_an_act_is_given_back_when_the_node_recovers(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with _worker_in_the_middle_of_an_act(incident):
            incident.cluster.leased_since = await incident.now()
        await incident.sees(healthy())
        async with incident.worker():
            await settle(incident)
            assert await incident.outcome() is Outcome.RECOVERED
    assert incident.cluster.count("clean_up") == 1
    assert not incident.cluster.is_leased


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


@asynccontextmanager
async def _worker_in_the_middle_of_an_act(incident: IncidentDriver) -> AsyncIterator[None]:
    """Start the incident, and kill the worker that is acting for it."""
    address = incident.client.service_client.config.target_host
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.workflows.worker_in_the_middle"),
        *(address, incident.client.namespace, incident.name),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        await incident.start(expired())
        assert process.stdout is not None
        async with asyncio.timeout(20):
            while (await process.stdout.readline()) not in (b"acting\n", b""):
                pass
        yield
    finally:
        process.kill()
        await process.wait()
