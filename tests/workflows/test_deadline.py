from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import FIVE_MINUTES, expired, healthy, waiting

A_BIT = timedelta(seconds=2)


async def test_expired_node_is_acted_on_with_what_the_start_carried(incident: IncidentDriver) -> None:
    await incident.start(expired())
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("observe") == 0
    assert incident.cluster.count("created") == 1


@pytest.mark.rule("rule 4")
async def test_what_the_start_carried_is_not_acted_on_when_it_grew_old(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.detector():
        await incident.start(expired())
        incident.cluster.observation = waiting()
        await incident.pass_time(timedelta(seconds=6))
        async with incident.worker():
            await incident.reaches(Phase.WAITING)
            await incident.happens("observe")
    assert incident.cluster.count("act") == 0


@pytest.mark.rule("NHC 2.0/deadline", "rule 1")
async def test_node_is_left_alone_until_its_deadline_and_then_acted_on_once(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.pass_time(FIVE_MINUTES - A_BIT)
    assert (await incident.state()).phase is Phase.WAITING
    assert incident.cluster.log[1:] == []

    incident.cluster.observation = expired()
    await incident.pass_time(2 * A_BIT)
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("act") == 1
    assert incident.cluster.times("act")[0] - incident.cluster.times("answered")[0] >= FIVE_MINUTES


async def test_node_that_recovers_before_its_deadline_is_never_acted_on(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.pass_time(FIVE_MINUTES / 2)
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED
    assert incident.cluster.count("act") == 0
    assert incident.cluster.count("clean_up") == 0


async def test_deadline_that_moved_is_kept_as_it_is_now(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.sees(waiting(timedelta(minutes=20)))
    await incident.happens("observe")
    await incident.pass_time(timedelta(minutes=19))
    assert incident.cluster.count("observe") == 1

    incident.cluster.observation = expired()
    await incident.pass_time(timedelta(minutes=2))
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.times("act")[0] - incident.cluster.times("observe")[0] >= timedelta(minutes=20)


async def test_node_that_is_waiting_still_when_the_timer_ends_is_waited_for(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.pass_time(FIVE_MINUTES + A_BIT)
    await incident.happens("observe")
    assert (await incident.reaches(Phase.WAITING)).outcome is None
    assert incident.cluster.count("act") == 0
