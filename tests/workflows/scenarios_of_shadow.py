"""Scenarios in shadow: steps are recorded, and so is what the present controller does."""

from datetime import timedelta

from health.model.moves import Outcome, Phase
from health.model.observation import Observation
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import rests
from tests.support.values.observations import escalating, healthy
from tests.workflows.stories import MINUTE, recover

FIRST_TIMEOUT = timedelta(minutes=5)


def shadowed(observation: Observation) -> Observation:
    return observation.model_copy(update={"is_shadow": True})


async def _record_two_steps(incident: IncidentDriver) -> None:
    await incident.start(shadowed(escalating()))
    await rests(incident, Phase.REMEDIATING)
    await incident.pass_time(FIRST_TIMEOUT + MINUTE)
    state = await rests(incident, Phase.REMEDIATING)
    assert [step.number for step in state.memory.shadow.steps] == [1, 2]


async def in_shadow_to_the_end(incident: IncidentDriver) -> None:
    await _record_two_steps(incident)
    incident.cluster.put_request()
    await incident.sees(shadowed(healthy()))
    await rests(incident, Phase.CLEANING_UP)
    await incident.cluster.lose_requests()
    await incident.wake()
    result = await incident.result()
    assert result.outcome is Outcome.WOULD_HAVE_REMEDIATED
    assert result.shadow is not None
    assert [other.ended is not None for other in result.shadow.others] == [True]


async def shadow_left_in_the_second_step(incident: IncidentDriver) -> None:
    await _record_two_steps(incident)
    await incident.sees(escalating().model_copy(update={"is_shadow": False}))
    await incident.happens("created")
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


SCENARIOS = (in_shadow_to_the_end, shadow_left_in_the_second_step)
