"""Evidence is saved once, before the first step; its failure stops nothing, but a hold of the step does."""

from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from tests.support.story.incident import IncidentDriver
from tests.support.values.observations import healthy, hold
from tests.workflows.scenarios_of_steps import shadowed, wanted
from workflows.contracts import ACT, SAVE_EVIDENCE


async def test_evidence_is_saved_once_and_linked_until_the_end(
    incident: IncidentDriver,
) -> None:
    await incident.start(wanted())
    state = await incident.reaches(Phase.REMEDIATING)
    record = state.memory.evidence
    assert record is not None
    assert f"\n- **Evidence:** ConfigMap ns/{record.name}\n" in await incident.details()
    assert await incident.queued() == [SAVE_EVIDENCE.name, ACT.name]
    assert (await incident.summaries())[0].startswith("before: create Reboot")

    await incident.pass_time(timedelta(seconds=301))  # the first step times out
    await incident.happens("created", 2)
    await incident.sees(healthy())
    result = await incident.result()
    assert (result.outcome, result.evidence) == (Outcome.REMEDIATED, record)
    assert incident.cluster.count(SAVE_EVIDENCE.name) == 1


@pytest.mark.parametrize("is_shadow", [False, True])
async def test_evidence_that_cannot_be_saved_stops_no_step_and_the_incident_says_so(
    incident: IncidentDriver, *, is_shadow: bool
) -> None:
    incident.cluster.failing[SAVE_EVIDENCE.name] = 99
    await incident.start(shadowed(wanted()) if is_shadow else wanted())
    state = await incident.reaches(Phase.REMEDIATING)

    unknown = "it is unknown whether the ConfigMap paramedic-evidence-node-1-"
    assert f"evidence: not saved: {unknown}" in state.details
    assert "was written: ConnectionError: the API server is away" in state.details
    assert incident.cluster.count(SAVE_EVIDENCE.name) == 2
    assert incident.cluster.count("created") == (0 if is_shadow else 1)
    assert len(state.memory.shadow.steps) == (1 if is_shadow else 0)
    await incident.sees(healthy().model_copy(update={"is_shadow": is_shadow}))
    result = await incident.result()
    assert result.evidence is not None
    assert not result.evidence.is_saved


async def test_outdated_facts_hold_as_in_an_act_and_evidence_is_saved_later(
    incident: IncidentDriver,
) -> None:
    incident.cluster.refusals.append(hold(HoldReason.NOT_TRUE, timedelta(seconds=2)))
    await incident.start(wanted())
    state = await incident.reaches(Phase.HELD)
    assert "NotTrue: not now" in state.details
    assert state.memory.evidence is None
    assert incident.cluster.count(ACT.name) == 0

    await incident.pass_time(timedelta(minutes=1))
    state = await incident.reaches(Phase.REMEDIATING)
    assert state.memory.evidence is not None
    assert incident.cluster.count(SAVE_EVIDENCE.name) == 2
    assert incident.cluster.count(ACT.name) == 1
