from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from tests.support.story.incident import IncidentDriver
from tests.support.values.observations import FIVE_MINUTES, expired, healthy, held, waiting

UNCACHED = 0
"""Every task replays: the harder way."""


@pytest.mark.rule("NHC 2.7/restart", "rule 1")
async def test_whole_life_of_an_incident_over_restarts_of_the_worker_between_which_its_deadline_passes(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker(UNCACHED):
            await incident.start(waiting())
            await incident.reaches(Phase.WAITING)
        incident.cluster.observation = held()
        await incident.pass_time(FIVE_MINUTES + timedelta(seconds=1))
        async with incident.worker(UNCACHED):
            await incident.reaches(Phase.HELD)
            await incident.abort()
            await incident.reaches(Phase.LEFT_ALONE)
        async with incident.worker(UNCACHED):
            await incident.resume()
            await incident.sees(expired())
            await incident.reaches(Phase.REMEDIATING)
            incident.cluster.has_finalizer = True
            await incident.sees(healthy())
            await incident.reaches(Phase.CLEANING_UP)
        async with incident.worker(UNCACHED):
            incident.cluster.remove_finalizer()
            await incident.wake()
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("created") == 1


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


async def test_second_start_of_an_open_incident_only_wakes_it_and_an_ended_one_is_started_again(
    incident: IncidentDriver,
) -> None:
    await incident.start(waiting())
    await incident.start(waiting())
    await incident.happens("observe")
    await incident.reaches(Phase.WAITING)
    assert len(await incident.histories()) == 1

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED
    await incident.start(expired())
    await incident.reaches(Phase.REMEDIATING)
    assert len(await incident.histories()) == 2
