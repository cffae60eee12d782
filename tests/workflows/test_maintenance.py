"""Failed maintenance tasks: each is noted and tried again, and stops nothing else."""

import dataclasses
from datetime import timedelta

import pytest

from health.model.moves import Phase
from health.model.remediation_request import TIMED_OUT
from health.runbook.failures import MaintenanceTask
from health.runbook.incident import STOP_PATIENCE
from health.runbook.orders import AbortOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act, fail_steps, take_first_step
from tests.support.story.settling import (
    REAL_TIME,
    pass_until,
    pass_wakes,
    rests,
)
from workflows.contracts import ANNOTATE

pytestmark = pytest.mark.rule("rule 47")

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
FOR_EVER = 1000
POWER_WORK = AbortOrder(reason="power work")


async def fail_to_tell(incident: IncidentDriver) -> None:
    """The first step has failed, and the annotation that stops its remediator cannot be written."""
    await take_first_step(incident)
    incident.cluster.failing["annotate"] = FOR_EVER
    await fail_steps(incident, "first")
    await rests(incident, Phase.HELD)


@pytest.mark.rule("NHC 1.7/nhc-timed-out")
async def test_dead_webhook_delays_the_next_step_by_a_minute_is_shown_and_costs_neither_lease_nor_annotation(
    incident: IncidentDriver,
) -> None:
    await fail_to_tell(incident)
    state = await incident.state()
    (note,) = state.memory.notes
    assert (note.task, note.what) == (MaintenanceTask.ANNOTATE, "annotate Reboot/ns/node-1")
    assert state.memory.patches == ()
    for words in (state.details, await incident.details()):
        assert "cannot annotate Reboot/ns/node-1: the API server is away (tried again at " in words
        assert "the next step waits until" in words

    await pass_wakes(incident, note.since + STOP_PATIENCE - REAL_TIME - await incident.now())
    assert incident.cluster.tried == ["first"]
    await pass_wakes(incident, REAL_TIME + SECOND)
    await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == ["first", "second"]
    assert incident.cluster.times("created")[1] >= note.since + STOP_PATIENCE
    assert incident.cluster.count("annotate") > 1
    assert incident.cluster.annotated == []

    renewals = incident.cluster.count("renewed")
    incident.cluster.failing["annotate"] = 0
    await pass_wakes(incident, 2 * MINUTE)
    assert incident.cluster.count("renewed") > renewals
    assert ("first", [TIMED_OUT]) in [(one, list(texts)) for one, texts in incident.cluster.annotated]
    state = await incident.state()
    assert state.memory.notes == ()
    assert "cannot" not in state.details


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


async def test_task_that_times_out_is_noted_and_the_incident_goes_on(
    incident: IncidentDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = dataclasses.replace(ANNOTATE, start_to_close=SECOND / 2, schedule_to_close=SECOND)
    monkeypatch.setattr("workflows.calls.ANNOTATE", impatient)
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
