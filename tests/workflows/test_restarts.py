from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import FIVE_MINUTES, expired, healthy, held, waiting
from tests.workflows.phases import act

CACHES = [pytest.param(1000, id="cached"), pytest.param(0, id="every-task-replays")]


@pytest.mark.rule("NHC 2.7/restart", "rule 1")
@pytest.mark.parametrize("cached", CACHES)
async def test_whole_life_of_an_incident_over_restarts_of_the_worker(
    bare_incident: IncidentDriver, cached: int
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker(cached):
            await incident.start(waiting())
            await incident.reaches(Phase.WAITING)
        async with incident.worker(cached):
            incident.cluster.observation = held()
            await incident.pass_time(FIVE_MINUTES + timedelta(seconds=1))
            await incident.reaches(Phase.HELD)
        async with incident.worker(cached):
            await incident.abort()
            await incident.reaches(Phase.LEFT_ALONE)
            await incident.resume()
            await incident.sees(expired())
            await incident.reaches(Phase.REMEDIATING)
        async with incident.worker(cached):
            await incident.pass_time(timedelta(minutes=11))
            await incident.happens("renew")
            await incident.handle.cancel()
            await incident.reaches(Phase.LEFT_ALONE)
            await incident.resume()
            await incident.reaches(Phase.REMEDIATING)
            incident.cluster.has_finalizer = True
            await incident.sees(healthy())
            await incident.reaches(Phase.CLEANING_UP)
        async with incident.worker(cached):
            incident.cluster.remove_finalizer()
            await incident.wake()
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("created") == 2


@pytest.mark.rule("rule 1")
async def test_deadline_that_passes_while_no_worker_runs_is_kept(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await incident.start(waiting())
            await incident.reaches(Phase.WAITING)
        await incident.pass_time(FIVE_MINUTES + timedelta(seconds=1))
        incident.cluster.observation = expired()
        async with incident.worker():
            await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("created") == 1


@pytest.mark.rule("NHC 2.4/4")
async def test_terminated_incident_that_is_started_again_adopts_its_request(incident: IncidentDriver) -> None:
    await act(incident)
    await incident.handle.terminate()
    await incident.start(expired())
    state = await incident.reaches(Phase.REMEDIATING)
    assert [request.uid for request in state.requests] == ["request-1"]
    assert incident.cluster.count("act") == 1
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED


async def test_incident_that_is_terminated_during_an_act_makes_no_second_request(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    await incident.handle.terminate()
    await incident.start(expired())
    gate.open()
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("created") == 1


async def test_second_start_of_an_open_incident_only_wakes_it(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.start(waiting())
    await incident.happens("observe")
    await incident.reaches(Phase.WAITING)
    assert len(await incident.histories()) == 1


async def test_ended_incident_can_be_started_again(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED
    await incident.start(expired())
    await incident.reaches(Phase.REMEDIATING)
    assert len(await incident.histories()) == 2
