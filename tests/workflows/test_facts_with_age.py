"""The facts of an incident are as old as their observation, however long the message took."""

from collections import deque
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from health.model.moves import Outcome, Phase
from health.runbook.escalation import CLASSIC_LEASE
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import pass_wakes, rests, settle
from tests.support.values.observations import expired, healthy, held, waiting
from workflows.contracts import FRESH
from workflows.messages import RemediationInput
from workflows.question import LATE_ANSWERS

pytestmark = pytest.mark.rule("rule 4")

RETRIED = timedelta(seconds=10)
"""For this long a client of Temporal may retry to start a workflow."""
A_DAY = timedelta(days=1)
TOO_OLD = FRESH + timedelta(seconds=1)


async def test_start_that_was_under_way_for_ten_seconds_is_asked_about_and_not_acted_on(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    await incident.start(expired(), under_way=RETRIED)
    incident.cluster.observation = waiting()
    async with incident.detector(), incident.worker():
        await incident.happens("observe")
        await settle(incident)
    assert (incident.cluster.count("observe"), incident.cluster.attempts) == (1, [])


async def test_act_on_facts_of_the_start_receives_their_time_and_costs_no_question(
    incident: IncidentDriver,
) -> None:
    before = datetime.now(UTC)
    await incident.start(expired())
    await rests(incident, Phase.REMEDIATING)
    types = [event.event_type for event in await incident.events()]
    assert EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED not in types
    assert await incident.queued() == ["act"]
    (asked,) = incident.cluster.acts
    assert asked.seen_at is not None
    assert before <= asked.seen_at <= datetime.now(UTC)


async def test_start_of_an_open_incident_wakes_it(incident: IncidentDriver) -> None:
    await incident.start(held())
    await rests(incident, Phase.HELD)
    asked = incident.cluster.count("observe")
    await incident.start(held())
    await incident.happens("observe", asked + 1)
    types = [event.event_type for event in await incident.events()]
    assert types.count(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) == 1


async def test_act_receives_the_time_of_the_answer_that_admits_it_and_a_copy_of_a_start_asks_a_day_later(
    incident: IncidentDriver,
) -> None:
    yesterday = expired().model_copy(update={"seen_at": datetime.now(UTC) - A_DAY})
    incident.cluster.observation = held()
    await incident.start_bare(RemediationInput(incident=incident.reference, observation=yesterday))
    await incident.reaches(Phase.HELD)
    assert incident.cluster.attempts == []

    before = datetime.now(UTC)
    await incident.start(expired())
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("observe") == 2
    (asked,) = incident.cluster.acts
    assert asked.seen_at is not None
    assert before <= asked.seen_at <= datetime.now(UTC)


async def test_answers_that_come_too_late_again_and_again_are_asked_for_after_a_while_or_when_woken(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    incident.cluster.lateness = deque([TOO_OLD] * 4)
    async with incident.detector(), incident.worker():
        await incident.start_bare(RemediationInput(incident=incident.reference))
        await incident.happens("observe", 2)
        await settle(incident)
        assert incident.cluster.count("observe") == 2
        wakes_at = (await incident.state()).wakes_at
        assert wakes_at is not None
        assert wakes_at >= incident.cluster.times("observe")[-1] + LATE_ANSWERS.first / 2
        assert wakes_at <= await incident.now() + LATE_ANSWERS.first

        await incident.wake()
        await incident.happens("observe", 3)
        await settle(incident)
        assert incident.cluster.count("observe") == 3
        # Not longer: the next pause may be as short as this one.
        await incident.pass_time(2 * LATE_ANSWERS.first)
        await incident.happens("observe", 4)
        await settle(incident)
        assert incident.cluster.attempts == []
        await incident.pass_time(LATE_ANSWERS.longest)
        await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("observe") == 5


async def test_lease_is_kept_while_answers_come_too_late_again_and_again(
    bare_incident: IncidentDriver,
) -> None:
    incident, cluster = bare_incident, bare_incident.cluster
    async with incident.detector(), incident.worker():
        await incident.start(expired())
        await rests(incident, Phase.REMEDIATING)
        cluster.lateness = deque([TOO_OLD] * 100)
        renewed, asked = cluster.count("renewed"), cluster.count("observe")
        await incident.wake()
        await incident.happens("observe", asked + 2)
        await pass_wakes(incident, CLASSIC_LEASE)
    assert cluster.count("renewed") > renewed
    assert cluster.count("observe") - asked < CLASSIC_LEASE / (LATE_ANSWERS.longest / 2) + 10


async def test_run_that_is_reset_after_its_act_asks_anew_and_makes_no_second_request(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await incident.start(held())
            await incident.reaches(Phase.HELD)
            await incident.sees(expired())
            await rests(incident, Phase.REMEDIATING)
        await incident.reset(await _task_after(incident, "act"))
        await incident.pass_time(TOO_OLD)
        async with incident.worker():
            await incident.reaches(Phase.REMEDIATING)
            await incident.happens("observe", 2)
            assert incident.cluster.count("act") == incident.cluster.count("created") == 1
            await incident.sees(healthy())
            assert await incident.outcome() is Outcome.REMEDIATED


async def test_run_that_is_reset_to_its_start_asks_and_finds_that_its_node_has_recovered(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await incident.start(expired())
            await incident.reaches(Phase.REMEDIATING)
            await incident.sees(healthy())
            assert await incident.outcome() is Outcome.REMEDIATED
        await incident.reset(_end_of_task(await incident.events()))
        await incident.pass_time(TOO_OLD)
        async with incident.worker():
            assert await incident.outcome() is Outcome.RECOVERED
    assert incident.cluster.count("act") == 1


async def test_run_that_is_reset_in_the_middle_of_its_act_asks_for_the_same_request(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    await incident.reset(_end_of_task(await incident.events()))
    await incident.happens("act", 2)
    gate.open()
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("created") == 1
    first, second = incident.cluster.attempts
    assert (first.run_id, first.step) == (second.run_id, second.step)


async def _task_after(incident: IncidentDriver, activity: str) -> int:
    """The end of the workflow task that reads the first result of an activity."""
    events = await incident.events()
    scheduled = next(
        event.event_id
        for event in events
        if event.activity_task_scheduled_event_attributes.activity_type.name == activity
    )
    answered = next(
        event.event_id
        for event in events
        if event.activity_task_completed_event_attributes.scheduled_event_id == scheduled
    )
    return _end_of_task(events[answered:])


def _end_of_task(events: list[HistoryEvent]) -> int:
    """The end of the first workflow task among these."""
    ends = (event for event in events if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
    return next(ends).event_id


async def test_incident_that_is_woken_while_it_asks_acts_on_the_answer_and_asks_again_after_the_act(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    incident.cluster.observation = expired()
    asking, acting = incident.cluster.gates["observe"], incident.cluster.gates["act"]
    asking.close()
    acting.close()
    async with incident.detector(), incident.worker():
        await incident.start_bare(RemediationInput(incident=incident.reference))
        await incident.happens("observe")
        await incident.wake()
        asking.open()
        await incident.happens("act")
        assert incident.cluster.count("observe") == 1
        acting.open()
        await incident.happens("observe", 2)
        await incident.reaches(Phase.REMEDIATING)
