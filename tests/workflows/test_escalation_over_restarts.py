"""An escalation over restarts of the worker, and over runs of its workflow."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, healthy
from tests.workflows.phases import adopt_exhausted, fail_steps, take_first_step
from tests.workflows.settling import pass_until, rests
from workflows.messages import ResumeOrder

UNCACHED = 0
"""Every task replays: the harder way; tests/workflows/test_restarts.py shows both."""
A_BIT = timedelta(seconds=1)


@pytest.mark.rule("NHC 2.7/restart", "rule 1", "NHC 2.4/6/timeout")
async def test_escalation_goes_on_over_restarts_and_a_timeout_that_passes_while_no_worker_runs_is_noticed(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker(UNCACHED):
            await take_first_step(incident)
            await incident.pass_time(timedelta(minutes=4))
            await incident.happens("renew")
            await rests(incident, Phase.REMEDIATING)
        await incident.pass_time(timedelta(minutes=1) + A_BIT)
        assert incident.cluster.count("annotate") == 0
        async with incident.worker(UNCACHED):
            await incident.happens("created", 2)
            await rests(incident, Phase.REMEDIATING)
        async with incident.worker():
            await fail_steps(incident, "second", "third")
            await rests(incident, Phase.EXHAUSTED)
        await incident.sees(healthy())
        async with incident.worker():
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.tried == ["first", "second", "third"]
    assert incident.cluster.count("annotate") == 3


@pytest.mark.rule("rule 40/exhausted", "NHC 2.7/restart")
async def test_order_to_start_over_is_kept_over_restarts(bare_incident: IncidentDriver) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await take_first_step(incident)
            incident.cluster.has_finalizer = True
            await incident.resume(ResumeOrder(step="second"))
            await rests(incident, Phase.CLEANING_UP)
        incident.cluster.remove_finalizer()
        await incident.wake()
        async with incident.worker():
            await incident.happens("created", 2)
            await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == ["first", "second"]


@pytest.mark.rule("rule 39", "rule 39/escalation")
async def test_escalation_that_another_began_goes_on_with_the_time_of_its_request(
    incident: IncidentDriver,
) -> None:
    began = datetime.now(UTC) - timedelta(minutes=4)
    incident.cluster.put_request(began, "first")
    await take_first_step(incident)
    assert incident.cluster.count("act") == 0
    await pass_until(incident, began + timedelta(minutes=5) + A_BIT)
    await incident.happens("created")
    assert incident.cluster.tried == ["second"]


@pytest.mark.rule("rule 40/exhausted", "NHC 2.7/restart")
async def test_resume_of_a_new_run_that_no_detector_answers_yet_is_obeyed_later(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.worker():
        async with incident.detector():
            await adopt_exhausted(incident)
        memory = (await incident.state()).memory
        await incident.handle.terminate()
        await incident.carry_on(memory, escalating())
        await incident.reaches(Phase.WAITING)
        await incident.resume()
        async with incident.detector():
            await incident.happens("created")
            await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == ["first"]
