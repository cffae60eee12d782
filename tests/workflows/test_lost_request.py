"""A user deletes a request while its node is unhealthy: the next one waits, longer each time."""

from datetime import timedelta

import pytest

from health.model.moves import Phase
from health.model.observation import Observation
from objects.timestamps import stamp
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import REAL_TIME, pass_until, rests
from tests.support.values.observations import expired
from workflows.messages import State

MINUTE = timedelta(minutes=1)
A_BIT = timedelta(seconds=2)

pytestmark = pytest.mark.rule("rule 14", "rule 14/deleted request")


def limited(observation: Observation) -> Observation:
    return observation.model_copy(update={"back_off_limit_seconds": 1800})


async def begin(incident: IncidentDriver, observation: Observation) -> None:
    await incident.start(observation)
    await rests(incident, Phase.REMEDIATING)


async def lose(incident: IncidentDriver) -> State:
    await incident.cluster.lose_requests()
    await incident.wake()
    return await rests(incident, Phase.HELD)


async def test_each_loss_doubles_the_wait_for_the_next_one_over_a_restart_of_the_worker(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await begin(incident, limited(expired()))
            (request,) = incident.cluster.requests.values()
            state = await lose(incident)
            first, lost = incident.cluster.acts
            assert (first.known, first.due_after_loss) == ((), None)
            assert lost.known == (request.reference,)
            assert lost.due_after_loss is not None
            assert state.memory.loss is not None
            assert state.memory.loss.at == lost.due_after_loss - MINUTE
            due = stamp(lost.due_after_loss)
            assert (
                f"BackOff: its request was removed by another actor, the next one is due at {due}"
                in state.details
            )
        async with incident.worker():
            for number, minutes in enumerate((1, 2), start=1):
                assert state.memory.loss is not None
                assert state.memory.loss.attempt == number
                lost_at = state.memory.loss.at
                await pass_until(incident, lost_at + minutes * MINUTE - REAL_TIME)
                assert incident.cluster.count("created") == number
                await pass_until(incident, lost_at + minutes * MINUTE + A_BIT)
                await incident.happens("created", number + 1)
                assert incident.cluster.times("created")[number] >= lost_at + minutes * MINUTE
                await rests(incident, Phase.REMEDIATING)
                state = await lose(incident)
    made = [asked for asked in incident.cluster.acts if not asked.known]
    assert [asked.attempt for asked in made] == [1, 2, 3]
