"""`resume` of an escalation: all requests go, then its steps are taken anew, from the first or another."""

from datetime import timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, expired, healthy, hold, unknown
from tests.workflows.phases import exhaust, fail_steps, take_first_step
from tests.workflows.settling import rests, settle
from workflows.messages import ResumeOrder

FROM_THE_SECOND = ResumeOrder(reason="power is back", step="second")

pytestmark = pytest.mark.rule("rule 40/exhausted")


def changes(incident: IncidentDriver) -> list[tuple[str, str]]:
    """The requests that were made and deleted, by their templates, in that order."""
    log = incident.cluster.log
    return [(entry.what, entry.template) for entry in log if entry.what in ("created", "deleted")]


async def test_exhausted_escalation_is_cleaned_up_and_begins_with_the_first_step(
    incident: IncidentDriver,
) -> None:
    await exhaust(incident)
    assert "Node/node-1" in await incident.resume()
    await incident.happens("created", 4)
    assert changes(incident)[3:] == [
        ("deleted", "first"),
        ("deleted", "second"),
        ("deleted", "third"),
        ("created", "first"),
    ]
    state = await rests(incident, Phase.REMEDIATING)
    assert [request.reference.template for request in state.requests] == ["first"]

    await fail_steps(incident, "first")
    await incident.happens("created", 5)
    assert incident.cluster.tried[3:] == ["first", "second"]


async def test_resume_with_a_step_begins_there_and_goes_on_from_there(incident: IncidentDriver) -> None:
    await exhaust(incident)
    await incident.resume(FROM_THE_SECOND)
    await incident.happens("created", 4)
    await rests(incident, Phase.REMEDIATING)
    await fail_steps(incident, "second", "third")
    await rests(incident, Phase.EXHAUSTED)
    assert incident.cluster.tried[3:] == ["second", "third"]


async def test_resume_with_a_step_takes_it_anew_in_the_middle_of_an_escalation(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    await fail_steps(incident, "first", "second")
    await incident.resume(ResumeOrder(step="first"))
    await incident.happens("created", 4)
    assert incident.cluster.tried == ["first", "second", "third", "first"]
    assert incident.cluster.count("deleted") == 3


async def test_resume_without_a_step_leaves_a_running_step_alone(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    await incident.resume()
    await incident.happens("observe")
    await rests(incident, Phase.REMEDIATING)
    assert changes(incident) == [("created", "first")]


async def test_resume_with_a_step_that_is_unknown_is_refused_with_those_that_are_known(
    incident: IncidentDriver,
) -> None:
    await exhaust(incident)
    before = await incident.state()
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await incident.handle.execute_update("resume", ResumeOrder(step="fourth"))
    assert isinstance(refused.value.cause, ApplicationError)
    assert refused.value.cause.message == (
        "step: no step uses the template 'fourth'; the templates are first, second, third"
    )
    await settle(incident)
    assert await incident.state() == before
    assert incident.cluster.count("deleted") == 0


async def test_resume_waits_for_what_a_finalizer_keeps(incident: IncidentDriver) -> None:
    await exhaust(incident)
    incident.cluster.has_finalizer = True
    await incident.resume()
    await rests(incident, Phase.CLEANING_UP)
    await incident.pass_time(timedelta(minutes=5))
    await rests(incident, Phase.CLEANING_UP)
    assert len(incident.cluster.tried) == 3
    incident.cluster.remove_finalizer()
    await incident.wake()
    await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried[3:] == ["first"]


async def test_resume_after_an_abort_that_a_finalizer_delays_begins_anew(incident: IncidentDriver) -> None:
    await exhaust(incident)
    incident.cluster.has_finalizer = True
    await incident.abort()
    await rests(incident, Phase.CLEANING_UP)
    await incident.resume()
    await rests(incident, Phase.CLEANING_UP)
    incident.cluster.remove_finalizer()
    await incident.wake()
    await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried[3:] == ["first"]


async def test_resume_is_no_admission(incident: IncidentDriver) -> None:
    await exhaust(incident)
    incident.cluster.observation = incident.cluster.observation.model_copy(
        update={"hold": hold(HoldReason.PAUSED)}
    )
    await incident.resume()
    await rests(incident, Phase.HELD)
    assert incident.cluster.count("deleted") == 3
    assert len(incident.cluster.tried) == 3
    await incident.sees(incident.cluster.observation.model_copy(update={"hold": None}))
    await incident.happens("created", 4)


async def test_node_that_recovers_while_it_is_resumed_is_done(incident: IncidentDriver) -> None:
    await exhaust(incident)
    incident.cluster.observation = healthy()
    await incident.resume(FROM_THE_SECOND)
    assert await incident.outcome() is Outcome.REMEDIATED
    assert len(incident.cluster.tried) == 3


async def test_overdue_classic_remediation_is_begun_anew(incident: IncidentDriver) -> None:
    await incident.start(expired())
    await rests(incident, Phase.REMEDIATING)
    await incident.pass_time(timedelta(minutes=31))
    await incident.reaches(Phase.EXHAUSTED)
    await incident.resume()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.is_leased
    assert incident.cluster.count("deleted") == 1


async def test_resume_while_the_detector_cannot_tell_is_obeyed_when_it_can(incident: IncidentDriver) -> None:
    await exhaust(incident)
    await incident.sees(unknown())
    await incident.tells("StaleSight")
    await incident.resume()
    await settle(incident)
    await incident.sees(escalating())
    await incident.happens("created", 4)
    assert incident.cluster.tried[3:] == ["first"]
