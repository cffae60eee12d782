from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import FIVE_MINUTES, expired, healthy, waiting
from tests.workflows.phases import BEFORE_A_REQUEST, WITH_A_REQUEST, Bring, act, wait
from workflows.messages import AbortOrder, HoldOrder

MINUTE = timedelta(minutes=1)
DISK_SWAP = HoldOrder(reason="disk swap")
FOR_TEN_MINUTES = HoldOrder(reason="disk swap", for_seconds=600)


@pytest.mark.parametrize("bring", BEFORE_A_REQUEST)
async def test_held_incident_does_nothing_until_its_node_recovers(
    incident: IncidentDriver, bring: Bring
) -> None:
    await bring(incident)
    acts = incident.cluster.count("act")
    answer = await incident.hold(DISK_SWAP)
    assert "Node/node-1" in answer
    await incident.sees(expired())
    await incident.happens("observe")
    await incident.pass_time(timedelta(hours=10))
    state = await incident.reaches(Phase.HELD)
    assert "held by a person: disk swap" in state.details
    assert state.memory.held
    assert incident.cluster.count("act") == acts

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED


@pytest.mark.parametrize("bring", WITH_A_REQUEST)
async def test_request_of_a_held_incident_is_kept_renewed_and_cleaned_up(
    incident: IncidentDriver, bring: Bring
) -> None:
    await bring(incident)
    renewals = incident.cluster.count("renew")
    await incident.hold(DISK_SWAP)
    await incident.happens("observe")
    await incident.pass_time(11 * MINUTE)
    await incident.happens("renew", renewals + 1)
    state = await incident.reaches(Phase.REMEDIATING)
    assert "held by a person: disk swap" in state.details
    assert incident.cluster.requests
    assert incident.cluster.count("clean_up") == 0

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED


async def test_request_of_a_held_incident_that_somebody_removed_is_not_made_again(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await incident.hold()
    await incident.cluster.lose_requests()
    await incident.wake()
    await incident.reaches(Phase.HELD)
    assert incident.cluster.count("created") == 1
    await incident.resume()
    await incident.happens("created", 2)


async def test_incident_that_is_held_for_a_time_goes_on_to_the_second(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.hold(FOR_TEN_MINUTES)
    await incident.sees(expired())
    await incident.happens("observe")
    await incident.pass_time(10 * MINUTE - timedelta(seconds=20))
    assert (await incident.state()).phase is Phase.HELD
    assert incident.cluster.count("act") == 0

    await incident.pass_time(timedelta(seconds=21))
    state = await incident.reaches(Phase.REMEDIATING)
    assert not state.memory.held
    assert "person" not in state.details


async def test_end_of_a_hold_is_told_while_a_request_exists(incident: IncidentDriver) -> None:
    await act(incident)
    await incident.hold(HoldOrder(for_seconds=60))
    await incident.happens("observe")
    await incident.pass_time(2 * MINUTE)
    await incident.happens("observe", 2)
    assert "person" not in (await incident.reaches(Phase.REMEDIATING)).details


async def test_resume_ends_a_hold_at_once(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.hold()
    await incident.reaches(Phase.HELD)
    incident.cluster.observation = expired()
    await incident.resume()
    await incident.reaches(Phase.REMEDIATING)


async def test_timer_goes_on_after_resume(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.hold()
    await incident.reaches(Phase.HELD)
    await incident.resume()
    await incident.reaches(Phase.WAITING)
    incident.cluster.observation = expired()
    await incident.pass_time(FIVE_MINUTES + timedelta(seconds=1))
    await incident.reaches(Phase.REMEDIATING)


async def test_hold_by_signal_does_the_same(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.handle.signal("hold", DISK_SWAP)
    assert "disk swap" in (await incident.reaches(Phase.HELD)).details


async def test_hold_while_an_act_is_in_flight_lets_it_finish_and_keeps_the_request(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    holding = await incident.sends(incident.hold())
    gate.open()
    assert "Node/node-1" in await holding
    await incident.tells("held by a person")
    state = await incident.reaches(Phase.REMEDIATING)
    assert "held by a person" in state.details
    assert incident.cluster.count("created") == 1


async def test_hold_and_resume_show_when_no_detector_answers(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.worker():
        await incident.start(waiting())
        await incident.reaches(Phase.WAITING)
        await incident.hold(DISK_SWAP)
        assert "disk swap" in (await incident.reaches(Phase.HELD)).details
        await incident.resume()
        await incident.tells("no answer of the detector yet")
        assert "disk swap" not in (await incident.state()).details


async def test_abort_of_a_held_incident_cleans_up_and_its_end_leaves_the_hold(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await incident.hold(DISK_SWAP)
    await incident.abort(AbortOrder(for_seconds=60))
    await incident.reaches(Phase.LEFT_ALONE)
    assert not incident.cluster.requests
    await incident.pass_time(2 * MINUTE)
    assert "disk swap" in (await incident.reaches(Phase.HELD)).details


async def test_hold_of_an_incident_that_is_left_alone_does_not_take_it_up(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.abort()
    await incident.reaches(Phase.LEFT_ALONE)
    await incident.hold(HoldOrder(for_seconds=60))
    await incident.sees(expired())
    await incident.pass_time(2 * MINUTE)
    assert (await incident.state()).phase is Phase.LEFT_ALONE


async def test_state_says_when_the_incident_goes_on(incident: IncidentDriver) -> None:
    await wait(incident)
    wakes_at = (await incident.state()).wakes_at
    assert wakes_at is not None
    assert abs(wakes_at - await incident.now() - FIVE_MINUTES) < timedelta(seconds=20)
    await incident.hold()
    await incident.reaches(Phase.HELD)
    assert (await incident.state()).wakes_at is None
