from datetime import timedelta

from health.model.moves import Phase
from health.runbook.orders import HoldOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import wait
from tests.support.values.observations import FIVE_MINUTES, expired

MINUTE = timedelta(minutes=1)
DISK_SWAP = HoldOrder(reason="disk swap")
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
