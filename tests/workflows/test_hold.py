from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import settle
from tests.support.values.observations import expired, healthy, held, hold
from workflows.contracts import RENEW

MINUTE = timedelta(minutes=1)


@pytest.mark.rule("NHC 2.0/deadline", "rule 6")
async def test_held_incident_asks_again_by_itself_when_its_time_is_over_and_not_before(
    incident: IncidentDriver,
) -> None:
    await incident.start(held(again=20 * MINUTE))
    await incident.reaches(Phase.HELD)
    await incident.pass_time(17 * MINUTE)
    assert incident.cluster.count("observe") == 0

    incident.cluster.observation = expired()
    await incident.pass_time(6 * MINUTE)
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("observe") == 1


async def test_finding_of_an_act_is_reported_to_the_detector_at_once_and_once(
    incident: IncidentDriver,
) -> None:
    found = hold(HoldReason.CONTROL_PLANE, MINUTE)
    incident.cluster.refusals.extend([found] * 2)
    await incident.start(expired())
    await incident.happens("observe")
    await incident.reaches(Phase.HELD)
    assert incident.cluster.count("act") == 1, "its finding holds, although the detector would admit it"
    assert incident.cluster.found == [found]

    await incident.pass_time(MINUTE)
    await incident.happens("act", 2)
    await incident.reaches(Phase.HELD)
    assert incident.cluster.found == [found, found], "it asked when the hold expired, and not after the act"

    await incident.pass_time(MINUTE)
    await incident.reaches(Phase.REMEDIATING)
    await incident.wake()
    await incident.happens("observe", 4)
    assert incident.cluster.found[-1] is None


async def test_refused_act_gives_back_what_it_may_have_taken(incident: IncidentDriver) -> None:
    incident.cluster.refusals.append(hold(HoldReason.NOT_TRUE))
    await incident.start(expired())
    await incident.reaches(Phase.HELD)
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED
    assert incident.cluster.count("clean_up") == 1


async def test_incident_tells_since_when_it_is_held_however_often_it_asks(incident: IncidentDriver) -> None:
    await incident.start(held(again=20 * MINUTE))
    began = (await incident.reaches(Phase.HELD)).why.held_since
    assert began is not None
    await incident.pass_time(30 * MINUTE)
    await incident.sees(held(again=20 * MINUTE))
    await settle(incident)
    assert incident.cluster.count("observe") >= 1
    assert (await incident.reaches(Phase.HELD)).why.held_since == began
    assert f"**Held since:** {began:%Y-%m-%dT%H:%M:%SZ}" in await incident.details()

    await incident.sees(held(HoldReason.PAUSED))
    await settle(incident)
    other = (await incident.reaches(Phase.HELD)).why.held_since
    assert other is not None
    assert other > began


async def test_history_begins_no_later_than_a_hold_while_the_first_move_takes_time(
    incident: IncidentDriver,
) -> None:
    incident.cluster.put_request()
    incident.cluster.gates[RENEW.name].close()
    await incident.start(held())
    memory = (await incident.reaches(Phase.REMEDIATING)).memory
    assert memory.holds[0].since is not None
    assert memory.timeline.entries[0].at <= memory.holds[0].since
    incident.cluster.gates[RENEW.name].open()
