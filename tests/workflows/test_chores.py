"""Chores that fail: each is noted and tried again, and keeps the incident from nothing else."""

import dataclasses
from datetime import timedelta
from itertools import pairwise

import pytest

from health.model.moves import Outcome, Phase
from health.model.remediation_request import TIMED_OUT
from health.runbook.chores import Chore
from health.runbook.failed_attempts import FORBIDDEN_GRACE
from health.runbook.new_step import STOP_PATIENCE
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, healthy
from tests.workflows.phases import act, fail_steps, take_first_step
from tests.workflows.settling import (
    pass_until,
    pass_until_it_rests_for_long,
    pass_wakes,
    rests,
    settle,
)
from workflows.contracts import ANNOTATE
from workflows.messages import AbortOrder

pytestmark = pytest.mark.rule("rule 47")

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
FOR_EVER = 1000
POWER_WORK = AbortOrder(reason="power work")


async def fail_to_tell(incident: IncidentDriver) -> None:
    """The first step has failed, and its remediator cannot be told to stop."""
    await take_first_step(incident)
    incident.cluster.failing["annotate"] = FOR_EVER
    await fail_steps(incident, "first")
    await rests(incident, Phase.HELD)


async def keep_one_of_two(incident: IncidentDriver) -> None:
    """The node has recovered in its second step, and the request of the first cannot be deleted."""
    await take_first_step(incident)
    await fail_steps(incident, "first")
    await rests(incident, Phase.REMEDIATING)
    incident.cluster.undeletable = {"first"}
    await incident.sees(escalating(healthy()))
    await rests(incident, Phase.CLEANING_UP)


@pytest.mark.rule("NHC 1.7/nhc-timed-out")
async def test_dead_webhook_delays_the_next_step_by_a_minute_is_shown_and_costs_neither_lease_nor_annotation(
    incident: IncidentDriver,
) -> None:
    await fail_to_tell(incident)
    state = await incident.state()
    (note,) = state.memory.notes
    assert (note.chore, note.what) == (Chore.ANNOTATE, "annotate Reboot/ns/node-1")
    assert state.memory.patches == ()
    for words in (state.details, await incident.details()):
        assert "cannot annotate Reboot/ns/node-1: the API server is away (tried again at " in words
        assert "the next step waits until" in words

    await pass_wakes(incident, note.since + STOP_PATIENCE - SECOND - await incident.now())
    assert incident.cluster.tried == ["first"]
    await pass_wakes(incident, 2 * SECOND)
    await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == ["first", "second"]
    assert 4 <= incident.cluster.count("annotate") <= 8
    assert incident.cluster.annotated == []

    renewals = incident.cluster.count("renewed")
    incident.cluster.failing["annotate"] = 0
    await pass_wakes(incident, 2 * MINUTE)
    assert incident.cluster.count("renewed") > renewals
    assert ("first", [TIMED_OUT]) in [(one, list(texts)) for one, texts in incident.cluster.annotated]
    state = await incident.state()
    assert state.memory.notes == ()
    assert "cannot" not in state.details


async def test_look_repeats_no_chore_before_its_time_and_abort_and_resume_are_obeyed_meanwhile(
    incident: IncidentDriver,
) -> None:
    await fail_to_tell(incident)
    await pass_until_it_rests_for_long(incident)
    before, tries = (await incident.state()).memory.notes, incident.cluster.count("annotate")
    await incident.wake()
    await settle(incident)
    assert (await incident.state()).memory.notes == before
    assert incident.cluster.count("annotate") == tries

    await incident.abort(POWER_WORK)
    await rests(incident, Phase.LEFT_ALONE)
    assert not incident.cluster.requests
    assert not incident.cluster.is_leased
    tried = incident.cluster.tried
    await incident.resume()
    await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == [*tried, "first"]


@pytest.mark.rule("rule 47/403")
async def test_403_of_an_api_server_that_has_just_started_costs_seconds_and_no_annotation(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    incident.cluster.failing["annotate"], incident.cluster.is_forbidding = 1, True
    await fail_steps(incident, "first")
    assert incident.cluster.tried == ["first"]
    await pass_wakes(incident, 3 * SECOND)
    await rests(incident, Phase.REMEDIATING)
    whats = [entry.what for entry in incident.cluster.log if entry.what in ("annotate", "created")]
    assert whats == ["created", "annotate", "annotate", "created"]
    assert [one for one, _ in incident.cluster.annotated] == ["first"]


@pytest.mark.rule("rule 47/403")
async def test_403_is_told_as_a_missing_right_after_half_a_minute_and_recovery_is_obeyed_meanwhile(
    incident: IncidentDriver,
) -> None:
    incident.cluster.is_forbidding = True
    await fail_to_tell(incident)
    while not (note := (state := await incident.state()).memory.notes[0]).is_right_missing:
        assert "cannot annotate" in state.details
        assert "a right is missing" not in state.details
        await pass_until(incident, note.next_try)
    assert note.failed - note.since >= FORBIDDEN_GRACE
    assert "a right is missing" in state.details
    assert 4 <= incident.cluster.count("annotate") <= 8

    await incident.sees(escalating(healthy()))
    assert await incident.outcome() is Outcome.REMEDIATED


@pytest.mark.rule("NHC 2.5/release", "rule 40")
async def test_request_that_cannot_be_deleted_keeps_the_lease_and_no_other_request_and_abort_tries_at_once(
    incident: IncidentDriver,
) -> None:
    await keep_one_of_two(incident)
    assert [one.reference.template for one in incident.cluster.requests.values()] == ["first"]
    assert incident.cluster.is_leased
    assert "cannot delete Reboot/ns/node-1: the API server is away" in (await incident.state()).details

    renewals, tries = incident.cluster.count("renew"), incident.cluster.count("clean_up")
    await pass_wakes(incident, 6 * MINUTE)  # its Lease would have been renewed
    assert incident.cluster.count("renew") == renewals
    assert incident.cluster.count("clean_up") <= tries + 9

    incident.cluster.undeletable.clear()
    await incident.abort()
    assert await incident.outcome() is Outcome.RECOVERED
    assert not incident.cluster.is_leased


@pytest.mark.rule("rule 40")
async def test_abort_says_what_it_waits_for_and_ends_when_that_is_gone(incident: IncidentDriver) -> None:
    await act(incident)
    incident.cluster.undeletable = {"t"}
    await incident.abort(POWER_WORK)
    state = await rests(incident, Phase.CLEANING_UP)
    assert "left alone: power work; cannot delete Reboot/ns/node-1" in state.details
    assert state.memory.clean_up_at is not None

    incident.cluster.undeletable.clear()
    await pass_until(incident, state.memory.clean_up_at)
    await rests(incident, Phase.LEFT_ALONE)
    assert not incident.cluster.is_leased
    assert (await incident.state()).memory.notes == ()


async def test_lease_that_could_not_be_renewed_is_renewed_as_soon_as_possible(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await settle(incident)
    incident.cluster.failing["renew"] = 3
    await pass_wakes(incident, 5 * MINUTE + 20 * SECOND)
    tries = incident.cluster.times("renew")
    assert len(tries) >= 4  # on a machine that is busy more time passes than was asked for
    waits = [(late - early).total_seconds() for early, late in pairwise(tries[:4])]
    assert all(longest / 2 <= wait <= longest + 1 for wait, longest in zip(waits, (2, 4, 8), strict=True))
    state = await rests(incident, Phase.REMEDIATING)
    assert state.memory.notes == ()
    assert state.memory.lease.renew_at is not None
    assert abs(state.memory.lease.renew_at - tries[-1] - 5 * MINUTE) < SECOND


async def test_chore_that_nobody_finishes_in_time_is_noted_and_the_incident_goes_on(
    incident: IncidentDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = dataclasses.replace(ANNOTATE, start_to_close=SECOND / 2, schedule_to_close=SECOND)
    monkeypatch.setattr("workflows.contracts.ANNOTATE", impatient)
    await take_first_step(incident)
    gate = incident.cluster.gates["annotate"]
    gate.close()
    incident.cluster.report("first", succeeded=False)
    await incident.wake()
    await gate.entered.wait()
    assert "Node/node-1" in await incident.hold()
    state = await rests(incident, Phase.HELD)
    (note,) = state.memory.notes
    assert note.what == f"annotate Reboot/ns/node-1 with {TIMED_OUT}"
    assert "imeout" in note.why
    gate.open()
    await pass_wakes(incident, 3 * SECOND)
    assert (await incident.state()).memory.notes == ()
    assert incident.cluster.annotated
