"""A request that somebody deletes while its node is unhealthy: the next one waits, longer each time."""

from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason, Observation
from objects.timestamps import stamp
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import expired, healthy, hold
from tests.workflows.settling import pass_until, rests, settle
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
                f"BackOff: its request was removed by somebody, the next one is due at {due}" in state.details
            )
        async with incident.worker():
            for number, minutes in enumerate((1, 2), start=1):
                assert state.memory.loss is not None
                assert state.memory.loss.attempt == number
                lost_at = state.memory.loss.at
                await pass_until(incident, lost_at + minutes * MINUTE - A_BIT)
                assert incident.cluster.count("created") == number
                await pass_until(incident, lost_at + minutes * MINUTE + A_BIT)
                await incident.happens("created", number + 1)
                await rests(incident, Phase.REMEDIATING)
                state = await lose(incident)
    made = [asked for asked in incident.cluster.acts if not asked.known]
    assert [asked.attempt for asked in made] == [1, 2, 3]


async def test_resume_skips_the_wait_once_and_recovery_ends_it(incident: IncidentDriver) -> None:
    await begin(incident, limited(expired()))
    await lose(incident)
    await incident.resume()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)

    await lose(incident)
    assert incident.cluster.is_leased
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("created") == 2


async def test_resume_skips_the_wait_for_an_earlier_incident_and_nothing_else(
    incident: IncidentDriver,
) -> None:
    await incident.start(expired().model_copy(update={"hold": hold(HoldReason.BACK_OFF)}))
    await rests(incident, Phase.HELD)
    incident.cluster.observation = expired().model_copy(update={"hold": hold(HoldReason.THRESHOLD)})
    await incident.resume()
    await incident.tells("Threshold")
    await settle(incident)
    assert incident.cluster.count("act") == 0
    incident.cluster.observation = expired().model_copy(update={"hold": hold(HoldReason.BACK_OFF)})
    await incident.resume()
    await incident.happens("created")


async def test_request_that_goes_after_its_node_failed_again_is_counted_once(
    incident: IncidentDriver,
) -> None:
    """It hung on a finalizer while the incident removed it: the detector sees its end, and holds the next."""
    await begin(incident, limited(expired()))
    incident.cluster.has_finalizer = True
    await incident.sees(healthy())
    await rests(incident, Phase.CLEANING_UP)
    await incident.sees(limited(expired()))
    await rests(incident, Phase.REMEDIATING)

    incident.cluster.remove_finalizer()
    again = limited(expired()).model_copy(update={"earlier_attempts": 1})
    due = await incident.now() + MINUTE
    await incident.sees(again.model_copy(update={"hold": hold(HoldReason.BACK_OFF, MINUTE)}))
    await rests(incident, Phase.HELD)
    incident.cluster.observation = again
    await pass_until(incident, due + A_BIT)

    await incident.happens("created", 2)
    state = await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.acts[-1].attempt == 2
    assert state.memory.loss is None


async def test_request_that_abort_removes_is_no_loss(incident: IncidentDriver) -> None:
    await begin(incident, limited(expired()))
    incident.cluster.has_finalizer = True
    await incident.abort({"for_seconds": 30})
    await rests(incident, Phase.CLEANING_UP)
    incident.cluster.remove_finalizer()
    await incident.pass_time(MINUTE)
    await incident.happens("created", 2)
    assert incident.cluster.acts[-1].attempt == 1
