import pytest

from health.model.moves import Outcome, Phase
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act, hang_on_a_finalizer
from tests.support.values.observations import expired, healthy, waiting


@pytest.mark.rule("rule 40")
async def test_cancel_is_an_abort_and_a_second_one_changes_nothing(incident: IncidentDriver) -> None:
    await act(incident)
    await incident.handle.cancel()
    state = await incident.reaches(Phase.LEFT_ALONE)
    assert "cancelled" in state.details
    assert not incident.cluster.requests
    assert not incident.cluster.is_leased

    await incident.handle.cancel()
    await incident.wake()
    await incident.happens("observe", 2)
    assert await incident.is_open()
    assert (await incident.reaches(Phase.LEFT_ALONE)).outcome is None

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED


@pytest.mark.rule("rule 40")
async def test_cancel_before_the_first_step_is_an_abort_that_resume_ends(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        await incident.start(waiting())
        await incident.handle.cancel()
        async with incident.worker():
            await incident.reaches(Phase.LEFT_ALONE)
            assert await incident.is_open()
            incident.cluster.observation = expired()
            await incident.resume()
            await incident.reaches(Phase.REMEDIATING)


async def test_cancel_while_a_clean_up_is_in_flight_finishes_it(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["clean_up"]
    await act(incident)
    gate.close()
    await incident.sees(healthy())
    await gate.entered.wait()
    await incident.handle.cancel()
    gate.open()
    assert await incident.outcome() is Outcome.RECOVERED
    assert incident.cluster.count("deleted") == 1


async def test_cancel_while_a_request_hangs_on_a_finalizer_waits_for_it(incident: IncidentDriver) -> None:
    await hang_on_a_finalizer(incident)
    await incident.handle.cancel()
    await incident.happens("clean_up", 2)
    assert await incident.is_open()
    incident.cluster.remove_finalizer()
    await incident.wake()
    assert await incident.outcome() is Outcome.RECOVERED


async def test_cancel_while_no_detector_answers_cleans_up_at_once(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.worker():
        await act(incident)
        await incident.wake()
        await incident.handle.cancel()
        await incident.reaches(Phase.LEFT_ALONE)
        assert not incident.cluster.requests
        assert await incident.is_open()
