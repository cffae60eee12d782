"""Answers of a detector of another version: an incident that cannot decode them holds, and reports it."""

from datetime import UTC, datetime, timedelta

import pytest
from temporalio import activity
from temporalio.worker import Worker

from health.model.moves import Phase
from health.model.observation import Hold
from tests.support.story.incident import IncidentDriver
from tests.support.values.observations import expired, waiting
from workflows.contracts import OBSERVE, ObserveInput, detector_queue

QUARANTINE = Hold(reason="Quarantine", message="rack 7 is quarantined", ask_again_seconds=3600)
MINUTE = timedelta(minutes=1)


async def test_state_that_is_not_known_holds_and_a_later_answer_goes_on(
    bare_incident: IncidentDriver,
) -> None:
    async with bare_incident.worker():
        async with newer_detector(bare_incident):
            await bare_incident.start(waiting(timedelta(seconds=1)))
            await bare_incident.pass_time(2 * MINUTE)
            state = await bare_incident.reaches(Phase.HELD)
            assert "the state Hibernating of the target is not known here" in state.details
        bare_incident.cluster.observation = expired()
        async with bare_incident.detector():
            await bare_incident.wake()
            await bare_incident.reaches(Phase.REMEDIATING)


def newer_detector(incident: IncidentDriver) -> Worker:
    @activity.defn(name=OBSERVE.name)
    async def observe(question: ObserveInput) -> dict[str, object]:  # noqa: ARG001  it says the same to all
        return expired().model_dump(mode="json") | {"state": "Hibernating"}

    return Worker(incident.client, task_queue=detector_queue(incident.name), activities=[observe])


@pytest.mark.rule("rule 49/versions")
async def test_incident_holds_where_an_older_detector_says_nothing_of_an_admission(
    bare_incident: IncidentDriver,
) -> None:
    async with bare_incident.worker():
        async with older_detector(bare_incident):
            await bare_incident.start(waiting(timedelta(seconds=1)))
            await bare_incident.pass_time(2 * MINUTE)
            state = await bare_incident.reaches(Phase.HELD)
            assert "its answer neither admits the step nor holds it" in state.details
        bare_incident.cluster.observation = expired()
        async with bare_incident.detector():
            await bare_incident.pass_time(2 * MINUTE)
            await bare_incident.reaches(Phase.REMEDIATING)
    assert len(bare_incident.cluster.attempts) == 1


def older_detector(incident: IncidentDriver) -> Worker:
    @activity.defn(name=OBSERVE.name)
    async def observe(question: ObserveInput) -> dict[str, object]:  # noqa: ARG001  it says the same to all
        answer = expired().model_dump(mode="json") | {"answered_at": datetime.now(UTC).isoformat()}
        del answer["admission"]
        return answer

    return Worker(incident.client, task_queue=detector_queue(incident.name), activities=[observe])
