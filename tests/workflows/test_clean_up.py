from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act, hang_on_a_finalizer
from tests.support.story.settling import rests
from tests.support.values.observations import expired, healthy, replaced, waiting

HANGING = timedelta(minutes=1, seconds=1)


@pytest.mark.rule("rule 10", "rule 11")
async def test_target_that_is_replaced_while_an_act_is_in_flight_is_cleaned_up(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    await incident.sees(replaced())
    gate.open()
    assert await incident.outcome() is Outcome.GONE
    assert incident.cluster.count("deleted") == 1


@pytest.mark.rule("NHC 2.1/13")
async def test_incident_that_is_started_for_a_request_of_a_recovered_node_cleans_it_up(
    incident: IncidentDriver,
) -> None:
    incident.cluster.put_request()
    await incident.start(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("observe") == 0


@pytest.mark.rule("NHC 2.7/finalizer")
async def test_request_that_hangs_on_a_finalizer_is_looked_at_each_minute_without_being_told(
    incident: IncidentDriver,
) -> None:
    await hang_on_a_finalizer(incident)
    state = await rests(incident, Phase.CLEANING_UP)
    assert "finalizer" in state.details
    assert state.requests
    assert incident.cluster.is_leased

    for times in (2, 3):
        await incident.pass_time(HANGING)
        await incident.happens("clean_up", times)
        await rests(incident, Phase.CLEANING_UP)
    incident.cluster.remove_finalizer()
    await incident.pass_time(HANGING)
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("clean_up") == 4


async def test_node_that_fails_again_while_it_is_cleaned_up_is_remediated_again(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["clean_up"]
    await act(incident)
    gate.close()
    await incident.sees(healthy())
    await gate.entered.wait()
    await incident.sees(expired())
    gate.open()
    await incident.happens("created", 2)
    assert (await incident.reaches(Phase.REMEDIATING)).outcome is None


async def test_look_that_arrives_while_the_last_answer_is_under_way_is_answered(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["observe"]
    await incident.start(waiting())
    gate.close()
    await incident.sees(healthy())
    await gate.entered.wait()
    await incident.sees(expired())
    gate.open()
    await incident.happens("created")
    assert (await incident.reaches(Phase.REMEDIATING)).outcome is None


async def test_look_that_arrives_while_the_last_activity_runs_is_answered(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["clean_up"]
    await act(incident)
    gate.close()
    await incident.sees(healthy())
    await gate.entered.wait()
    await incident.wake()
    gate.open()
    assert await incident.outcome() is Outcome.REMEDIATED
    whats = [entry.event for entry in incident.cluster.log]
    assert whats.index("clean_up") < len(whats) - 1 - whats[::-1].index("observe")
