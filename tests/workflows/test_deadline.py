from datetime import timedelta

import pytest

from health.model.moves import Phase
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import REAL_TIME
from tests.support.values.observations import FIVE_MINUTES, expired, waiting

A_BIT = timedelta(seconds=2)


@pytest.mark.rule("NHC 2.0/deadline", "rule 1")
async def test_node_is_left_alone_until_its_deadline_and_then_acted_on_once(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.pass_time(FIVE_MINUTES - REAL_TIME)
    assert (await incident.state()).phase is Phase.WAITING
    assert incident.cluster.log[1:] == []

    incident.cluster.observation = expired()
    await incident.pass_time(REAL_TIME + A_BIT)
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("act") == 1
    assert incident.cluster.times("act")[0] - incident.cluster.times("answered")[0] >= FIVE_MINUTES
