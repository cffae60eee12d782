"""Incidents whose step deletes or marks the target itself: no request, and nothing is done twice."""

from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import Observation
from health.model.references import Action, Step
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, expired, gone, healthy
from tests.workflows.settling import rests

DELETE, MARK = Step(action=Action.DELETE), Step(action=Action.MARK)


def deleting() -> Observation:
    return escalating(expired(), DELETE)


@pytest.mark.rule("MHC A.2.5/delete")
async def test_machine_that_hangs_on_a_finalizer_is_deleted_once_and_waited_for_over_a_restart_of_the_worker(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await incident.start(deleting())
            await rests(incident, Phase.REMEDIATING)
            await incident.sees(healthy())
            await rests(incident, Phase.REMEDIATING)
            await incident.sees(deleting())
            await incident.pass_time(timedelta(minutes=15))
            await rests(incident, Phase.REMEDIATING)
        await incident.wake()
        async with incident.worker():
            await rests(incident, Phase.REMEDIATING)
            assert incident.cluster.count("Delete of the target") == 1
            assert incident.cluster.is_leased

            await incident.sees(gone())
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("Delete of the target") == 1
    assert not incident.cluster.is_leased


@pytest.mark.rule("rule 28")
async def test_mark_that_its_consumer_took_off_in_vain_is_set_again(incident: IncidentDriver) -> None:
    marked = escalating(expired(), MARK)
    says = {"under_way": "marked for external remediation", "is_marked": True}
    under_way = marked.model_copy(update=says)
    await incident.start(marked)
    await incident.happens("Mark of the target")
    await incident.sees(under_way)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(marked)
    await incident.happens("Mark of the target", 2)
    await incident.sees(under_way)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
