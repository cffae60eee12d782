"""Every change of the cluster is an ordinary activity, so the Temporal UI shows what went in and what for."""

from datetime import timedelta

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from health.model.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, recovered
from tests.workflows.phases import fail_steps, take_first_step
from tests.workflows.settling import pass_wakes, rests

MINUTE = timedelta(minutes=1)


async def remediate_in_two_steps(incident: IncidentDriver) -> None:
    """With every activity that there is."""
    await take_first_step(incident)
    await fail_steps(incident, "first")
    await rests(incident, Phase.REMEDIATING)
    await pass_wakes(incident, 1.5 * MINUTE)
    await incident.sees(escalating(recovered(MINUTE)))
    await rests(incident, Phase.HEALTHY_DELAY)
    await incident.pass_time(MINUTE)
    assert await incident.outcome() is Outcome.REMEDIATED


async def events(incident: IncidentDriver) -> list[HistoryEvent]:
    return [event for history in await incident.histories() for event in history.events]


async def test_history_has_no_markers_and_shows_what_went_into_each_activity_and_what_it_makes(
    incident: IncidentDriver,
) -> None:
    await remediate_in_two_steps(incident)
    types = {event.event_type for event in await events(incident)}
    assert EventType.EVENT_TYPE_MARKER_RECORDED not in types
    scheduled = [
        event.activity_task_scheduled_event_attributes
        for event in await events(incident)
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    ]
    assert {one.activity_type.name for one in scheduled} == {
        "observe",
        "act",
        "annotate",
        "renew",
        "clean_up",
    }
    for one in scheduled:
        (payload,) = one.input.payloads
        assert b'"incident"' in payload.data
        assert one.start_to_close_timeout.ToTimedelta() > timedelta()
        is_question = one.activity_type.name == "observe"
        assert is_question or one.schedule_to_close_timeout.ToTimedelta() <= timedelta(seconds=25)

    first, second = (one for one in await incident.summaries() if one.startswith("create "))
    assert "first" in first
    assert "second" in second
    assert "Node/node-1" in first
