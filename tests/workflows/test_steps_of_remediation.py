from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.runbook.failures import MaintenanceTask
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act
from tests.support.story.settling import pass_until, rests
from tests.support.values.observations import expired, healthy

TEN_MINUTES = timedelta(minutes=10)
A_BIT = timedelta(seconds=30)


@pytest.mark.rule("NHC 2.1/13")
async def test_act_receives_its_facts_and_node_that_recovers_then_is_cleaned_up_and_remediated(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    (asked,) = incident.cluster.acts
    assert asked.incident == incident.reference
    assert asked.run_id == (await incident.handle.describe()).run_id
    assert (asked.step, asked.fact, asked.generation) == (expired().steps[0], expired().fact, 1)

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert [entry.event for entry in incident.cluster.log if entry.event != "answered"] == [
        "act",
        "created",
        "observe",
        "clean_up",
        "deleted",
    ]


@pytest.mark.rule("NHC 2.5/manage/renew")
async def test_lease_of_ten_minutes_is_renewed_at_half_of_that_while_the_request_exists(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await incident.pass_time(TEN_MINUTES / 2 - A_BIT)
    assert incident.cluster.count("renew") == 0
    for times in (1, 2):
        await incident.pass_time(TEN_MINUTES / 2)
        await incident.happens("renew", times)
        await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("renew") == 2
    assert incident.cluster.count("act") == 1
    assert incident.cluster.count("observe") == 0


@pytest.mark.rule("rule 47")
async def test_failed_renewal_is_noted_with_the_state_of_the_target_and_tried_again(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    incident.cluster.failing["renew"] = 1
    await incident.pass_time(TEN_MINUTES / 2)
    await incident.happens("observe")
    state = await rests(incident, Phase.REMEDIATING)
    (note,) = state.memory.notes
    assert note.task is MaintenanceTask.RENEW

    await pass_until(incident, note.next_try)
    await incident.happens("renewed")
    assert (await rests(incident, Phase.REMEDIATING)).memory.notes == ()


@pytest.mark.rule("NHC 2.5/overdue")
async def test_incident_asks_after_a_renewal_that_finds_a_lease_acquired_anew(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    incident.cluster.leased_since = anew = await incident.now()
    await incident.pass_time(TEN_MINUTES / 2)
    await incident.happens("observe")
    assert (await rests(incident, Phase.REMEDIATING)).memory.lease.acquired_at == anew


async def test_order_during_a_renewal_is_obeyed_after_it(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["renew"]
    await act(incident)
    gate.close()
    await incident.pass_time(TEN_MINUTES / 2)
    await gate.entered.wait()
    order = await incident.sends(incident.abort())
    gate.open()
    await order
    await rests(incident, Phase.LEFT_ALONE)
    assert incident.cluster.count("deleted") == 1
