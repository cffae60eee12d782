"""Acts that fail again and again come ever more seldom, until something changes that they are made by.

How the waits grow is shown by tests/health/test_failing_acts.py.
"""

from datetime import timedelta
from itertools import pairwise

from health.model.moves import Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import expired
from tests.workflows.settling import pass_until_it_rests_for_long, pass_wakes, rests, settle
from workflows.messages import ResumeOrder

FOR_SOME_TIME = timedelta(seconds=75)
FOR_EVER = 1000
LEAST = [timedelta(seconds=seconds) for seconds in (5, 10, 20, 40, 80)]
"""As there."""


async def fail_for_some_time(incident: IncidentDriver) -> None:
    incident.cluster.failing["act"] = FOR_EVER
    await incident.start(expired())
    await rests(incident, Phase.HELD)
    await pass_wakes(incident, FOR_SOME_TIME)
    await pass_until_it_rests_for_long(incident)


async def test_few_acts_are_made_and_resume_tries_at_once(incident: IncidentDriver) -> None:
    await fail_for_some_time(incident)
    times = incident.cluster.times("act")
    acts = len(times)
    assert acts >= 4  # on a machine that is busy more time passes than was asked for
    waits = [late - early for early, late in pairwise(times)]
    assert all(wait >= least for wait, least in zip(waits, LEAST, strict=False))
    state = await incident.state()
    assert state.memory.failing is not None
    assert f"({acts} times in a row, the next attempt is due at " in state.details
    assert "the next attempt is due at" in await incident.details()

    await incident.resume(ResumeOrder(reason="the webhook is back"))
    await incident.happens("act", acts + 1)
    state = await rests(incident, Phase.HELD)
    assert state.memory.failing is not None
    assert state.memory.failing.count == 1


async def test_edit_is_tried_at_once_and_a_look_is_not(incident: IncidentDriver) -> None:
    await fail_for_some_time(incident)
    acts = incident.cluster.count("act")
    await incident.wake()
    await settle(incident)
    assert incident.cluster.count("act") == acts

    incident.cluster.failing["act"] = 0
    await incident.sees(expired().model_copy(update={"templates": "another"}))
    state = await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.count("act") == acts + 1
    assert state.memory.failing is None
