from datetime import timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError

from health.model.moves import Outcome, Phase
from health.runbook.orders import HoldOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import wait
from tests.support.values.observations import FIVE_MINUTES, expired, healthy, held
from workflows.messages import ORDER_REFUSED

MINUTE = timedelta(minutes=1)
DISK_SWAP = HoldOrder(reason="disk swap")
STANDS = "it is held until resume or its recovery by ada@vm: disk swap; resume first to shorten it"
FOR_TEN_MINUTES = HoldOrder(reason="disk swap", for_seconds=600)


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


async def test_hold_for_a_time_also_holds_the_next_failure_after_a_recovery(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.hold(FOR_TEN_MINUTES)
    await incident.sees(healthy())
    assert (await incident.reaches(Phase.HELD)).memory.held
    await incident.sees(expired())
    await incident.pass_time(9 * MINUTE)
    assert (await incident.state()).phase is Phase.HELD
    assert incident.cluster.count("act") == 0

    await incident.pass_time(MINUTE)
    await incident.reaches(Phase.REMEDIATING)


async def test_incident_of_a_recovered_node_ends_with_its_hold(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.hold(FOR_TEN_MINUTES)
    await incident.sees(healthy())
    await incident.reaches(Phase.HELD)
    await incident.pass_time(10 * MINUTE)
    assert await incident.outcome() is Outcome.RECOVERED


async def test_resume_ends_a_hold_at_once_and_the_timer_goes_on(incident: IncidentDriver) -> None:
    await wait(incident)
    wakes_at = (await incident.state()).wakes_at
    assert wakes_at is not None
    assert abs(wakes_at - await incident.now() - FIVE_MINUTES) < timedelta(seconds=20)
    await incident.hold()
    assert (await incident.reaches(Phase.HELD)).wakes_at is None

    await incident.resume()
    await incident.reaches(Phase.WAITING)
    incident.cluster.observation = expired()
    await incident.pass_time(FIVE_MINUTES + timedelta(seconds=1))
    await incident.reaches(Phase.REMEDIATING)


async def test_shorter_hold_is_refused_as_an_update_and_a_signal(incident: IncidentDriver) -> None:
    await incident.start(held())
    await incident.hold(HoldOrder(reason="disk swap", identity="ada@vm"))
    short = HoldOrder(reason="x", for_seconds=60)
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await incident.hold(short)
    assert str(refused.value.cause) == f"{ORDER_REFUSED}: {STANDS}"

    await incident.handle.signal("hold", short)
    memory = (await incident.state()).memory
    assert [order.refused for order in memory.orders] == ["", STANDS]
    await incident.pass_time(2 * MINUTE)
    standing = (await incident.state()).memory.held
    assert standing is not None
    assert standing.reason == "disk swap"


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
