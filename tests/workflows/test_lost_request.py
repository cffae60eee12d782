"""A request that somebody deletes while its node is unhealthy: the next one waits, longer each time."""

from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason, Observation
from objects.timestamps import stamp
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, expired, healthy, hold
from tests.workflows.phases import fail_steps
from tests.workflows.settling import pass_until, rests, settle
from workflows.messages import State

MINUTE = timedelta(minutes=1)
A_BIT = timedelta(seconds=2)

pytestmark = pytest.mark.rule("rule 14", "rule 14/deleted request")


def limited(observation: Observation, limit: timedelta = 30 * MINUTE) -> Observation:
    return observation.model_copy(update={"back_off_limit_seconds": limit.total_seconds()})


async def begin(incident: IncidentDriver, observation: Observation) -> None:
    await incident.start(observation)
    await rests(incident, Phase.REMEDIATING)


async def lose(incident: IncidentDriver) -> State:
    await incident.cluster.lose_requests()
    await incident.wake()
    return await rests(incident, Phase.HELD)


async def test_each_loss_doubles_the_wait_for_the_next_one(incident: IncidentDriver) -> None:
    await begin(incident, limited(expired()))
    for number, minutes in enumerate((1, 2, 4), start=1):
        state = await lose(incident)
        assert state.memory.loss is not None
        assert state.memory.loss.attempt == number
        lost_at = state.memory.loss.at
        assert "BackOff: its request was removed by somebody, the next one is due at" in state.details

        await pass_until(incident, lost_at + minutes * MINUTE - A_BIT)
        assert incident.cluster.count("created") == number
        await pass_until(incident, lost_at + minutes * MINUTE + A_BIT)
        await incident.happens("created", number + 1)
        await rests(incident, Phase.REMEDIATING)
    made = [asked for asked in incident.cluster.acts if not asked.known]
    assert [asked.attempt for asked in made] == [1, 2, 3, 4]


async def test_act_that_finds_it_lost_makes_nothing(incident: IncidentDriver) -> None:
    await begin(incident, limited(expired()))
    (request,) = incident.cluster.requests.values()
    await lose(incident)
    assert [asked.known for asked in incident.cluster.acts] == [(), (request.reference,)]
    assert incident.cluster.count("created") == 1


@pytest.mark.rule("rule 14/limit")
async def test_without_a_limit_it_is_made_anew_at_once(incident: IncidentDriver) -> None:
    await begin(incident, limited(expired(), timedelta()))
    await incident.cluster.lose_requests()
    await incident.wake()
    await incident.happens("created", 2)
    assert (await rests(incident, Phase.REMEDIATING)).memory.loss is not None


async def test_resume_skips_the_wait_once(incident: IncidentDriver) -> None:
    await begin(incident, limited(expired()))
    await lose(incident)
    await incident.resume()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)

    await lose(incident)
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


async def test_act_knows_when_the_next_one_is_due_and_the_incident_waits_until_just_then(
    incident: IncidentDriver,
) -> None:
    await begin(incident, limited(expired()))
    state = await lose(incident)
    first, lost = incident.cluster.acts
    assert first.due_after_loss is None
    assert lost.due_after_loss is not None
    assert state.memory.loss is not None
    assert state.memory.loss.at == lost.due_after_loss - MINUTE
    assert f"due at {stamp(lost.due_after_loss)}" in state.details


@pytest.mark.parametrize(
    "number", [pytest.param(1, id="its first"), pytest.param(2, id="after one that was lost")]
)
async def test_request_that_goes_after_its_node_failed_again_is_counted_once(
    incident: IncidentDriver, number: int
) -> None:
    """It hung on a finalizer while the incident removed it: the detector sees its end, and holds the next."""
    await begin(incident, limited(expired()))
    if number > 1:
        state = await lose(incident)
        assert state.memory.loss is not None
        await pass_until(incident, state.memory.loss.at + MINUTE + A_BIT)
        await rests(incident, Phase.REMEDIATING)
    incident.cluster.has_finalizer = True
    await incident.sees(healthy())
    await rests(incident, Phase.CLEANING_UP)
    await incident.sees(limited(expired()))
    await rests(incident, Phase.REMEDIATING)

    incident.cluster.remove_finalizer()
    again = limited(expired()).model_copy(update={"earlier_attempts": number})
    due = await incident.now() + number * MINUTE
    await incident.sees(again.model_copy(update={"hold": hold(HoldReason.BACK_OFF, number * MINUTE)}))
    await rests(incident, Phase.HELD)
    incident.cluster.observation = again
    await pass_until(incident, due + A_BIT)

    await incident.happens("created", number + 1)
    state = await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.acts[-1].attempt == number + 1
    assert bool(state.memory.loss) is (number > 1)


@pytest.mark.parametrize("is_removed_before", [False, True])
async def test_request_that_abort_removes_is_no_loss_unless_somebody_did_so_before(
    incident: IncidentDriver, *, is_removed_before: bool
) -> None:
    await begin(incident, limited(expired()))
    incident.cluster.has_finalizer = True
    if is_removed_before:
        incident.cluster.report("t", is_being_deleted=True)
        await incident.wake()
        await rests(incident, Phase.REMEDIATING)
    await incident.abort({"for_seconds": 30})
    await rests(incident, Phase.CLEANING_UP)
    incident.cluster.remove_finalizer()
    await incident.pass_time(MINUTE)
    if is_removed_before:
        assert (await rests(incident, Phase.HELD)).memory.loss is not None
        assert incident.cluster.count("created") == 1
        return
    await incident.happens("created", 2)
    assert incident.cluster.acts[-1].attempt == 1


async def test_lost_request_of_a_step_is_made_anew_in_that_step(incident: IncidentDriver) -> None:
    await begin(incident, limited(escalating()))
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    state = await lose(incident)
    assert state.memory.loss is not None
    await pass_until(incident, state.memory.loss.at + MINUTE + A_BIT)
    await incident.happens("created", 3)
    assert incident.cluster.tried == ["first", "second", "second"]


async def test_node_that_recovers_while_it_waits_is_cleaned_up(incident: IncidentDriver) -> None:
    await begin(incident, limited(expired()))
    await lose(incident)
    assert incident.cluster.is_leased
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("created") == 1


async def test_wait_outlasts_a_restart_of_the_worker(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await begin(incident, limited(expired()))
            state = await lose(incident)
        async with incident.worker():
            assert state.memory.loss is not None
            await pass_until(incident, state.memory.loss.at + MINUTE - A_BIT)
            assert incident.cluster.count("created") == 1
            await pass_until(incident, state.memory.loss.at + MINUTE + A_BIT)
            await incident.happens("created", 2)
