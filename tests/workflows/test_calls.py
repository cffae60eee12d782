"""Every change of the cluster is an ordinary activity, so the Temporal UI shows its input and its purpose."""

from datetime import timedelta

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutType
from temporalio.exceptions import TimeoutError as ActivityTimeoutError

from health.model.moves import Outcome, Phase
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import fail_steps, take_first_step
from tests.support.story.settling import pass_wakes, rests
from tests.support.values.observations import escalating, recovered
from workflows.kit import in_words

MINUTE = timedelta(minutes=1)


async def remediate_in_two_steps(incident: IncidentDriver) -> None:
    """An incident with every kind of activity."""
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
    assert {call.activity_type.name for call in scheduled} == {
        "observe",
        "act",
        "annotate",
        "renew",
        "clean_up",
    }
    for call in scheduled:
        (payload,) = call.input.payloads
        assert b'"incident"' in payload.data
        assert call.start_to_close_timeout.ToTimedelta() > timedelta()
        is_question = call.activity_type.name == "observe"
        assert is_question or call.schedule_to_close_timeout.ToTimedelta() <= timedelta(seconds=25)

    created = [one for one in await incident.summaries() if one.startswith("create ")]
    assert created == ["create Reboot from ns/first", "create Reboot from ns/second"]


def broken_off_by(cause: Exception, because: Exception | None = None) -> ActivityError:
    error = ActivityError(
        "Activity task failed",
        scheduled_event_id=1,
        started_event_id=2,
        identity="",
        activity_type="act",
        activity_id="1",
        retry_state=None,
    )
    error.__cause__, cause.__cause__ = cause, because
    return error


def test_call_that_was_broken_off_has_the_error_of_its_activity() -> None:
    refused = ApplicationError("no Node node-1", type="Gone")
    assert (
        in_words(broken_off_by(refused, ApplicationError("404", type="NotFound"))) == "Gone: no Node node-1"
    )
    late = ActivityTimeoutError("took too long", type=TimeoutType.START_TO_CLOSE, last_heartbeat_details=[])
    assert in_words(broken_off_by(late)) == "took too long"


def test_arguments_that_could_not_be_read_are_reported_with_the_reason() -> None:
    why = ApplicationError("the key '2026' is missing", type="UnreadablePayload")
    of_the_sdk = ApplicationError("Failed decoding arguments")
    assert in_words(broken_off_by(of_the_sdk, why)) == "UnreadablePayload: the key '2026' is missing"
