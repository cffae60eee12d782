"""`resume` of an escalation: all requests go, then its steps begin anew, from the first or another."""

from datetime import timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from health.model.moves import Phase
from health.runbook.orders import ResumeOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import adopt_exhausted, fail_steps
from tests.support.story.settling import rests, settle
from workflows.messages import ORDER_REFUSED

FROM_THE_SECOND = ResumeOrder(reason="power is back", step="second")

pytestmark = pytest.mark.rule("rule 40/exhausted")


def changes(incident: IncidentDriver) -> list[tuple[str, str]]:
    """The created and deleted requests, by template, in order."""
    log = incident.cluster.log
    return [(entry.event, entry.template) for entry in log if entry.event in ("created", "deleted")]


async def test_exhausted_escalation_is_cleaned_up_to_the_last_finalizer_and_begins_with_the_first_step(
    incident: IncidentDriver,
) -> None:
    await adopt_exhausted(incident)
    incident.cluster.has_finalizer = True
    assert "Node/node-1" in await incident.resume()
    await rests(incident, Phase.CLEANING_UP)
    await incident.pass_time(timedelta(minutes=2))
    await rests(incident, Phase.CLEANING_UP)
    assert changes(incident) == []
    incident.cluster.remove_finalizer()
    await incident.wake()
    state = await rests(incident, Phase.REMEDIATING)
    assert changes(incident) == [
        ("deleted", "first"),
        ("deleted", "second"),
        ("deleted", "third"),
        ("created", "first"),
    ]
    assert [request.reference.template for request in state.requests] == ["first"]

    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    assert incident.cluster.tried == ["first", "second"]


async def test_resume_with_a_step_begins_there_and_one_that_is_unknown_is_refused_with_those_that_are_known(
    incident: IncidentDriver,
) -> None:
    await adopt_exhausted(incident)
    before = await incident.state()
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await incident.handle.execute_update("resume", ResumeOrder(step="fourth"))
    assert isinstance(refused.value.cause, ApplicationError)
    assert refused.value.cause.type == ORDER_REFUSED
    assert refused.value.cause.message == (
        "'fourth' is the template of no step; the templates are "
        "RebootTemplate/first, RebootTemplate/second, RebootTemplate/third"
    )
    await settle(incident)
    assert await incident.state() == before
    assert incident.cluster.count("deleted") == 0

    await incident.resume(FROM_THE_SECOND)
    await incident.happens("created")
    await rests(incident, Phase.REMEDIATING)
    await fail_steps(incident, "second", "third")
    await rests(incident, Phase.EXHAUSTED)
    assert incident.cluster.tried == ["second", "third"]
