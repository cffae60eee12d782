"""While no detector answers, the Lease of a running request is kept, and orders are obeyed."""

from datetime import timedelta

import pytest

from health.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.phases import act
from tests.workflows.settling import rests
from tests.workflows.sights import expired, healthy, waiting
from workflows.messages import HoldOrder

TEN_MINUTES = timedelta(minutes=10)
A_BIT = timedelta(seconds=2)


async def ask_in_vain(incident: IncidentDriver) -> None:
    """A request was made, the detector went, and something woke the incident."""
    async with incident.eyes():
        await act(incident)
        await rests(incident, Phase.REMEDIATING)
    await incident.look()
    await asks(incident)


async def asks(incident: IncidentDriver, times: int = 1) -> None:
    while len(await incident.queued()) < times:
        await incident.state()


@pytest.mark.rule("decision 7/lease", "NHC 2.5/manage/renew")
async def test_lease_is_renewed_again_and_again_while_a_question_waits(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.hands():
        await ask_in_vain(incident)
        for times in (1, 2, 3):
            await incident.pass_time(TEN_MINUTES)
            await incident.happens("renew", times)
            await asks(incident, times + 1)
        assert incident.cluster.count("observe") == 0
        assert incident.cluster.is_leased

        incident.cluster.sight = healthy()
        async with incident.eyes():
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("observe") == 1
    assert incident.cluster.count("renew") == 3


async def test_answer_that_comes_late_is_used(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.hands():
        await ask_in_vain(incident)
        await incident.pass_time(TEN_MINUTES)
        await incident.happens("renew")
        await asks(incident, 2)
        async with incident.eyes():
            await incident.happens("answered", 2)
            await rests(incident, Phase.REMEDIATING)
            assert incident.cluster.count("observe") == 1
            assert incident.cluster.count("act") == 1


@pytest.mark.rule("decision 40")
@pytest.mark.parametrize("has_renewed", [False, True], ids=["at-once", "after-a-renewal"])
async def test_abort_is_obeyed_while_a_question_waits(
    bare_incident: IncidentDriver, *, has_renewed: bool
) -> None:
    incident = bare_incident
    async with incident.hands():
        await ask_in_vain(incident)
        if has_renewed:
            await incident.pass_time(TEN_MINUTES)
            await incident.happens("renew")
            await asks(incident, 2)
        await incident.abort()
        await incident.reaches(Phase.LEFT_ALONE)
        assert not incident.cluster.requests
        assert not incident.cluster.is_leased
        incident.cluster.sight = healthy()
        async with incident.eyes():
            assert await incident.outcome() is Outcome.RECOVERED


async def test_hold_shows_while_a_question_waits_and_the_lease_is_still_kept(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.hands():
        await ask_in_vain(incident)
        await incident.hold(HoldOrder(reason="disk swap"))
        await incident.tells("disk swap")
        await asks(incident, 2)
        await incident.pass_time(TEN_MINUTES)
        await incident.happens("renew")
        assert incident.cluster.requests


async def test_question_without_a_lease_to_keep_waits_for_as_long_as_it_takes(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.hands():
        await incident.start(waiting())
        await incident.reaches(Phase.WAITING)
        await incident.look()
        await asks(incident)
        await incident.pass_time(timedelta(seconds=1))
        assert await incident.queued() == ["observe"]
        async with incident.eyes():
            await incident.happens("answered", 2)
            await rests(incident, Phase.WAITING)
    assert incident.cluster.count("renew") == 0
