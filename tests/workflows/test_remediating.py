from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import expired, healthy, held, waiting
from tests.workflows.phases import act, adopt

TEN_MINUTES = timedelta(minutes=10)
A_BIT = timedelta(seconds=30)


@pytest.mark.rule("NHC 2.1/13")
async def test_node_that_recovers_after_the_act_is_cleaned_up_and_remediated(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert [entry.what for entry in incident.cluster.log if entry.what != "answered"] == [
        "act",
        "created",
        "observe",
        "clean_up",
        "deleted",
    ]


async def test_act_is_told_who_orders_it_and_what_it_rests_on(incident: IncidentDriver) -> None:
    await act(incident)
    (asked,) = incident.cluster.acts
    assert asked.incident == incident.reference
    assert asked.run_id == (await incident.handle.describe()).run_id
    assert (asked.step, asked.fact, asked.generation) == (expired().steps[0], expired().fact, 1)


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


@pytest.mark.rule("NHC 2.4/4")
async def test_request_of_an_earlier_run_is_adopted_renewed_and_cleaned_up(incident: IncidentDriver) -> None:
    await adopt(incident)
    assert [request.uid for request in (await incident.state()).requests] == ["request-1"]
    await incident.pass_time(TEN_MINUTES + A_BIT)
    await incident.happens("renew")
    assert incident.cluster.count("act") == 0
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED


@pytest.mark.rule("rule 14/limit")
async def test_request_that_somebody_removed_is_made_again(incident: IncidentDriver) -> None:
    await act(incident)
    await incident.cluster.lose_requests()
    await incident.wake()
    await incident.happens("created", 2)
    assert (await incident.reaches(Phase.REMEDIATING)).requests[0].uid == "request-2"


@pytest.mark.rule("NHC 2.1/13/timer runs", "rule 7", "rule 7/clean-up")
async def test_request_is_left_to_work_while_only_a_timer_runs_and_while_the_check_is_held(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    for times, seen in enumerate((waiting(), held(HoldReason.PAUSED)), start=1):
        await incident.sees(seen)
        await incident.happens("answered", times + 1)
        await incident.reaches(Phase.REMEDIATING)
        assert incident.cluster.requests
        assert incident.cluster.count("clean_up") == 0
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
