"""After an act, an incident notes at its end the number of its attempt and the time of its end."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.enums.v1 import EventType

from detector.dispatching.incident_calls import IncidentCalls
from devcluster.polling import until
from health.gate.back_off import EndedAttempt
from health.model.moves import Outcome, Phase
from health.model.target import TargetName, owner_name
from tests.support.story.incident import IncidentDriver
from tests.support.values.observations import expired, gone, healthy, released, waiting

pytestmark = pytest.mark.rule("rule 14")

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
async def incident(bare_incident: IncidentDriver) -> AsyncIterator[IncidentDriver]:
    async with bare_incident.detector(), bare_incident.worker():
        yield bare_incident


async def listed(incident: IncidentDriver, *owners: TargetName) -> list[EndedAttempt]:
    """The attempts that the detector reads after a restart, of the target and of these."""
    calls = IncidentCalls(lambda: incident.client, incident.name)
    names = [TargetName.of(incident.reference.target), *owners]

    async def are_listed() -> bool:
        return bool(await calls.ended(LONG_AGO))

    await until(are_listed, within=timedelta(seconds=60), otherwise=f"not {names} are listed")
    (end,) = await calls.ended(LONG_AGO)
    found = end.attempts
    assert [target for target, _ in found] == names
    assert end.incident == incident.reference
    return sorted((attempt for _, attempt in found), key=lambda attempt: attempt.ended)


async def notes(incident: IncidentDriver) -> int:
    kind = EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES
    return sum(event.event_type == kind for event in (await incident.handle.fetch_history()).events)


async def test_incident_that_acted_is_listed_with_the_number_after_those_before_it_and_its_end(
    incident: IncidentDriver,
) -> None:
    await incident.start(expired().model_copy(update={"earlier_attempts": 3}))
    await incident.reaches(Phase.REMEDIATING)
    (asked,) = incident.cluster.acts
    before = await incident.now()
    await incident.sees(released())
    await incident.outcome()

    (attempt,) = await listed(incident)

    closed = (await incident.handle.describe()).close_time
    assert closed is not None
    assert asked.attempt == attempt.number == 4
    assert before < attempt.ended <= closed
    assert await notes(incident) == 1


@pytest.mark.rule("rule 14/controller")
async def test_request_and_note_have_the_next_attempt_number_also_for_a_replacement_of_the_target(
    incident: IncidentDriver,
) -> None:
    replaced_by = "MachineSet/workers-a"
    seen = {"earlier_attempts": 3, "replaced_by": replaced_by}
    await incident.start(expired().model_copy(update=seen))
    await incident.reaches(Phase.REMEDIATING)
    (asked,) = incident.cluster.acts
    await incident.sees(gone())
    await incident.outcome()

    assert asked.attempt == 4
    owner = owner_name(incident.reference.target.namespace, replaced_by)
    assert [attempt.number for attempt in await listed(incident, owner)] == [4, 4]


async def test_incident_that_made_nothing_notes_nothing(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.reaches(Phase.WAITING)
    await incident.sees(healthy())

    assert await incident.outcome() is Outcome.RECOVERED
    assert await notes(incident) == 0
