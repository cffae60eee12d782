"""An abort, and a cancel, which is an abort: the incident cleans up and leaves its target alone."""

import asyncio
from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.runbook.orders import AbortOrder
from tests.support.api.eventually import eventually
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act, hang_on_a_finalizer
from tests.support.values.observations import expired, healthy, waiting

pytestmark = pytest.mark.rule("rule 40")

MINUTE = timedelta(minutes=1)
POWER_WORK = AbortOrder(reason="power work")
FOR_TEN_MINUTES = AbortOrder(reason="power work", for_seconds=600)


async def test_aborted_incident_leaves_its_node_alone_until_that_has_recovered(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    answer = await incident.abort(POWER_WORK)
    assert "Node/node-1" in answer
    state = await incident.reaches(Phase.LEFT_ALONE)
    assert "power work" in state.details
    assert not incident.cluster.requests
    assert not incident.cluster.is_leased

    acts = incident.cluster.count("act")
    await incident.sees(expired())
    await incident.pass_time(timedelta(hours=10))
    assert (await incident.state()).phase is Phase.LEFT_ALONE
    assert incident.cluster.count("act") == acts

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED


async def test_abort_for_a_time_also_leaves_the_next_failure_alone_after_a_recovery(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await incident.abort(FOR_TEN_MINUTES)
    await incident.sees(healthy())
    await incident.reaches(Phase.LEFT_ALONE)
    await incident.sees(expired())
    await incident.pass_time(9 * MINUTE)
    assert (await incident.state()).phase is Phase.LEFT_ALONE
    assert incident.cluster.count("act") == 1

    await incident.resume()
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("created") == 2


@pytest.mark.rule("rule 41/late")
async def test_incident_says_that_it_would_not_act_while_a_person_wants_that(
    incident: IncidentDriver,
) -> None:
    def latest() -> list[bool]:
        return [asked.would_act for asked in incident.cluster.questions[-1:]]

    await act(incident)
    for order in (incident.abort, incident.hold):
        await order()
        await eventually(lambda: latest() == [False])
        await incident.resume()
        await eventually(lambda: latest() == [True])


async def test_abort_by_signal_does_the_same(incident: IncidentDriver) -> None:
    await act(incident)
    await incident.handle.signal("abort", POWER_WORK)
    assert "power work" in (await incident.reaches(Phase.LEFT_ALONE)).details
    assert not incident.cluster.requests
    await incident.handle.signal("resume")
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("created") == 2


async def test_abort_while_an_act_is_in_flight_lets_it_finish_and_cleans_up(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    aborting = await incident.sends(incident.abort())
    assert incident.cluster.count("clean_up") == 0
    gate.open()
    assert "Node/node-1" in await aborting
    await incident.reaches(Phase.LEFT_ALONE)
    assert incident.cluster.count("created") == 1
    assert incident.cluster.count("deleted") == 1
    assert not incident.cluster.is_leased


async def test_recovery_during_the_clean_up_of_an_abort_ends_the_incident(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["clean_up"]
    await act(incident)
    gate.close()
    aborting = await incident.sends(incident.abort())
    await gate.entered.wait()
    await incident.sees(healthy())
    gate.open()
    await aborting
    assert await incident.outcome() is Outcome.RECOVERED


async def test_resume_during_the_clean_up_of_an_abort_asks_before_it_acts(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["clean_up"]
    await act(incident)
    await incident.sees(expired())
    await incident.happens("observe")
    gate.close()
    aborting = await incident.sends(incident.abort())
    await gate.entered.wait()
    incident.cluster.observation = waiting()
    resuming = await incident.sends(incident.resume())
    gate.open()
    await asyncio.gather(aborting, resuming)
    await incident.reaches(Phase.WAITING)
    assert incident.cluster.count("act") == 1


async def test_orders_show_at_once_when_no_detector_answers_and_nothing_is_to_be_cleaned_up(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.worker():
        await incident.start(waiting())
        await incident.wake()
        await incident.abort()
        await incident.reaches(Phase.LEFT_ALONE)
        assert incident.cluster.count("clean_up") == 0
        await incident.resume()
        assert "no answer" in (await incident.reaches(Phase.HELD)).details


@pytest.mark.rule("rule 40")
async def test_cancel_is_an_abort_and_a_second_one_changes_nothing(incident: IncidentDriver) -> None:
    await act(incident)
    await incident.handle.cancel()
    state = await incident.reaches(Phase.LEFT_ALONE)
    assert "cancelled" in state.details
    assert not incident.cluster.requests
    assert not incident.cluster.is_leased

    await incident.handle.cancel()
    await incident.wake()
    await incident.happens("observe", 2)
    assert await incident.is_open()
    assert (await incident.reaches(Phase.LEFT_ALONE)).outcome is None

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED


@pytest.mark.rule("rule 40")
async def test_cancel_before_the_first_step_is_an_abort_that_resume_ends(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        await incident.start(waiting())
        await incident.handle.cancel()
        async with incident.worker():
            await incident.reaches(Phase.LEFT_ALONE)
            assert await incident.is_open()
            incident.cluster.observation = expired()
            await incident.resume()
            await incident.reaches(Phase.REMEDIATING)


async def test_cancel_while_a_clean_up_is_in_flight_finishes_it(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["clean_up"]
    await act(incident)
    gate.close()
    await incident.sees(healthy())
    await gate.entered.wait()
    await incident.handle.cancel()
    gate.open()
    assert await incident.outcome() is Outcome.RECOVERED
    assert incident.cluster.count("deleted") == 1


async def test_cancel_while_a_request_hangs_on_a_finalizer_waits_for_it(incident: IncidentDriver) -> None:
    await hang_on_a_finalizer(incident)
    await incident.handle.cancel()
    await incident.happens("clean_up", 2)
    assert await incident.is_open()
    incident.cluster.remove_finalizer()
    await incident.wake()
    assert await incident.outcome() is Outcome.RECOVERED


async def test_cancel_while_no_detector_answers_cleans_up_at_once(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.worker():
        await act(incident)
        await incident.wake()
        await incident.handle.cancel()
        await incident.reaches(Phase.LEFT_ALONE)
        assert not incident.cluster.requests
        assert await incident.is_open()
