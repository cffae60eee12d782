"""Acts that fail again and again come ever more seldom, until something changes that they are made by."""

from datetime import timedelta
from itertools import pairwise

import pytest

from health.model.moves import Phase
from health.model.observation import Observation
from health.runbook.chores import LONGEST_RETRY
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import expired
from tests.workflows.settling import pass_until_it_rests_for_long, pass_wakes, rests, settle
from workflows.messages import ResumeOrder

MINUTE = timedelta(minutes=1)
FOR_EVER = 1000


async def fail_for(incident: IncidentDriver, duration: timedelta) -> None:
    incident.cluster.failing["act"] = FOR_EVER
    await incident.start(expired())
    await rests(incident, Phase.HELD)
    await pass_wakes(incident, duration)
    await pass_until_it_rests_for_long(incident)


async def test_few_acts_are_made_and_the_waits_grow_to_five_minutes(incident: IncidentDriver) -> None:
    await fail_for(incident, 2.5 * MINUTE)
    acts = incident.cluster.times("act")
    assert 4 <= sum(act <= acts[0] + 2.5 * MINUTE for act in acts) <= 6
    state = await incident.state()
    assert f"({incident.cluster.count('act')} times in a row, the next attempt is due at " in state.details
    assert state.memory.failing is not None
    assert "the next attempt is due at" in await incident.details()

    await pass_wakes(incident, 20 * MINUTE)
    waits = [late - early for early, late in pairwise(incident.cluster.times("act"))]
    assert all(early * 1.5 < late for early, late in pairwise(waits[:5]))
    assert LONGEST_RETRY <= waits[-1] < 1.3 * LONGEST_RETRY


async def test_resume_tries_at_once(incident: IncidentDriver) -> None:
    await fail_for(incident, 2.5 * MINUTE)
    acts = incident.cluster.count("act")
    await incident.resume(ResumeOrder(reason="the webhook is back"))
    await incident.happens("act", acts + 1)
    await settle(incident)
    state = await rests(incident, Phase.HELD)
    assert state.memory.failing is not None
    assert state.memory.failing.count == 1


@pytest.mark.parametrize(
    "edited",
    [
        pytest.param(expired().model_copy(update={"generation": 2}), id="check"),
        pytest.param(expired().model_copy(update={"templates": "another"}), id="template"),
    ],
)
async def test_edit_is_tried_at_once(incident: IncidentDriver, edited: Observation) -> None:
    await fail_for(incident, 2.5 * MINUTE)
    acts = incident.cluster.count("act")
    await incident.wake()
    await settle(incident)
    assert incident.cluster.count("act") == acts
    incident.cluster.failing["act"] = 0
    await incident.sees(edited)
    state = await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.count("act") == acts + 1
    assert state.memory.failing is None
