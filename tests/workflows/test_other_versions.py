"""What a detector of another version answers: an incident that does not understand it holds, and says so."""

from datetime import timedelta

from temporalio import activity
from temporalio.worker import Worker

from health.model.moves import Outcome, Phase
from health.model.observation import Hold
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import STEP, expired, healthy, waiting
from workflows.contracts import OBSERVE, ObserveInput, detector_queue

QUARANTINE = Hold(reason="Quarantine", message="rack 7 is quarantined", ask_again_seconds=3600)
MINUTE = timedelta(minutes=1)


async def test_hold_for_a_reason_that_is_not_known_holds_is_shown_and_ends(incident: IncidentDriver) -> None:
    await incident.start(expired().model_copy(update={"hold": QUARANTINE}))
    state = await incident.reaches(Phase.HELD)
    assert "Quarantine: rack 7 is quarantined" in state.details

    await incident.wake()
    await incident.happens("observe")
    await incident.reaches(Phase.HELD)
    assert incident.cluster.count("act") == 0

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED


async def test_action_that_is_not_known_is_not_carried_out(incident: IncidentDriver) -> None:
    drain = STEP.model_copy(update={"action": "Drain"})
    await incident.start(expired().model_copy(update={"steps": (drain,)}))
    state = await incident.reaches(Phase.HELD)
    assert "the action Drain of a step is not known here" in state.details
    assert incident.cluster.count("act") == 0

    incident.cluster.observation = expired()
    await incident.pass_time(2 * MINUTE)
    await incident.reaches(Phase.REMEDIATING)


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
    async def observe(asked: ObserveInput) -> dict[str, object]:  # noqa: ARG001  it says the same to all
        return expired().model_dump(mode="json") | {"state": "Hibernating"}

    return Worker(incident.client, task_queue=detector_queue(incident.name), activities=[observe])
