"""While no detector answers, the Lease of a running request is kept, and orders are obeyed.

The clock of these tests cannot be moved while a question waits, so these tests run in real time, and the
shortest timeout of a question is one second here.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.runbook.orders import HoldOrder
from health.runbook.state import Memory
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act
from tests.support.story.polling import polled
from tests.support.story.settling import rests, settle
from tests.support.values.memories import HELD_LEASE
from tests.support.values.observations import expired, healthy, waiting


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflows.question.SHORTEST_WAIT", timedelta(seconds=1))


async def ask_in_vain(incident: IncidentDriver) -> None:
    """A request was created five minutes ago, the detector stopped, and the incident was woken."""
    async with incident.detector():
        await act(incident)
        await settle(incident)
        await incident.pass_time(timedelta(minutes=5) - timedelta(seconds=1))
        await rests(incident, Phase.REMEDIATING)
    await incident.wake()
    await asks(incident)


async def ask_in_vain_with_a_short_lease(incident: IncidentDriver) -> None:
    request = incident.cluster.put_request()
    due = Memory(
        requests=(request.reference,),
        has_acted=True,
        lease=replace(
            HELD_LEASE, duration_seconds=1, acquired_at=request.created, renew_at=datetime.now(UTC)
        ),
    )
    await incident.carry_on(due, expired())
    await asks(incident)


async def asks(incident: IncidentDriver, times: int = 1) -> None:
    """Wait until the incident has asked that often."""

    async def has_asked() -> bool:
        return (await incident.queued()).count("observe") >= times

    await polled(has_asked)


@pytest.mark.rule("rule 7/lease", "NHC 2.5/manage/renew", "rule 40")
async def test_lease_is_renewed_again_and_again_while_a_question_waits_until_an_abort_which_is_obeyed(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.worker():
        await ask_in_vain_with_a_short_lease(incident)
        await incident.happens("renew", 2)
        await asks(incident, 3)
        assert incident.cluster.count("observe") == 0

        await incident.abort()
        await incident.reaches(Phase.LEFT_ALONE)
        assert not incident.cluster.requests
        assert not incident.cluster.is_leased
        incident.cluster.observation = healthy()
        async with incident.detector():
            assert await incident.outcome() is Outcome.RECOVERED
    assert incident.cluster.count("observe") == 1


@pytest.mark.rule("rule 7/lease", "NHC 2.5/manage/renew")
async def test_lease_is_renewed_again_and_again_while_each_answer_fails(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    incident.cluster.failing["observe"] = 1000
    async with incident.worker(), incident.detector():
        await ask_in_vain_with_a_short_lease(incident)
        await incident.happens("renew", 2)
        await asks(incident, 3)
        incident.cluster.failing["observe"] = 0
        incident.cluster.observation = healthy()
        assert await incident.outcome() is Outcome.REMEDIATED


@pytest.mark.rule("rule 7/lease")
async def test_hold_shows_while_a_question_waits_and_an_answer_that_comes_late_is_used(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.worker():
        await ask_in_vain(incident)
        await incident.hold(HoldOrder(reason="disk swap"))
        await incident.tells("disk swap")
        await incident.happens("renew")
        await asks(incident, 2)
        await incident.tells("disk swap")
        assert incident.cluster.requests
        async with incident.detector():
            await incident.happens("answered", 2)
            await rests(incident, Phase.REMEDIATING)
        assert incident.cluster.count("observe") == incident.cluster.count("renew") == 1
        assert incident.cluster.count("act") == 1


async def test_question_without_a_lease_to_keep_waits_for_as_long_as_it_takes(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.worker():
        await incident.start(waiting())
        await rests(incident, Phase.WAITING)
        await incident.wake()
        await asks(incident)
        assert await limits(incident) == [timedelta()]
        async with incident.detector():
            await incident.happens("answered", 2)
            await rests(incident, Phase.WAITING)
    assert incident.cluster.count("renew") == 0


async def limits(incident: IncidentDriver) -> list[timedelta]:
    """The timeout of each question; zero means none."""
    return [
        event.activity_task_scheduled_event_attributes.schedule_to_close_timeout.ToTimedelta()
        for event in (await incident.handle.fetch_history()).events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
