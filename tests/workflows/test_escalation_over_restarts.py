"""An escalation over restarts of the worker, and over runs of its workflow."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import ESCALATION, FIRST, SECOND, THIRD, escalating, expired, healthy
from tests.workflows.phases import exhaust, fail_steps, take_first_step
from tests.workflows.settling import pass_until, rests
from workflows.messages import ResumeOrder

UNCACHED = 0
"""Every task replays: the harder way; tests/workflows/test_restarts.py shows both."""
A_BIT = timedelta(seconds=1)


@pytest.mark.rule("NHC 2.7/restart", "rule 1", "NHC 2.4/6/timeout")
async def test_whole_escalation_over_restarts_of_the_worker_in_each_step(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    await incident.start(escalating())
    async with incident.detector():
        for number, step in enumerate(ESCALATION, start=1):
            async with incident.worker(UNCACHED):
                await rests(incident, Phase.REMEDIATING)
            began = incident.cluster.request_of(step.template.name).created
            async with incident.worker(UNCACHED):
                await pass_until(incident, began + timedelta(seconds=step.timeout_seconds or 0) + A_BIT)
                await incident.happens("mark", number)
        async with incident.worker(UNCACHED):
            await rests(incident, Phase.EXHAUSTED)
        await incident.sees(healthy())
        async with incident.worker(UNCACHED):
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.tried == ["first", "second", "third"]
    assert incident.cluster.count("mark") == 3


@pytest.mark.rule("rule 1", "NHC 2.4/6/timeout")
async def test_timeout_that_passes_while_no_worker_runs_is_noticed_when_one_does(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await take_first_step(incident)
            await incident.pass_time(timedelta(minutes=4))
            await incident.happens("renew")
            await rests(incident, Phase.REMEDIATING)
        await incident.pass_time(timedelta(minutes=1) + A_BIT)
        assert incident.cluster.count("mark") == 0
        async with incident.worker():
            await incident.happens("created", 2)
            await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == ["first", "second"]


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


@pytest.mark.rule("NHC 2.7/restart")
async def test_new_run_in_the_middle_of_an_escalation_goes_on_where_it_was(
    long_incident: IncidentDriver,
) -> None:
    incident = long_incident
    await take_first_step(incident)
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    before = await rests(incident, Phase.REMEDIATING)
    await incident.wake_until_continued()
    after = await rests(incident, Phase.REMEDIATING)
    assert after.requests == before.requests
    assert after.memory.model_copy(update={"began": None}) == before.memory
    assert after.memory.spent == (FIRST.template,)

    second = incident.cluster.request_of("second")
    await pass_until(incident, second.created + timedelta(seconds=120) + A_BIT)
    await incident.happens("created", 3)
    assert incident.cluster.tried == ["first", "second", "third"]
    assert incident.cluster.count("mark") == 2


async def test_new_run_does_not_take_a_step_again_whose_request_somebody_deleted(
    long_incident: IncidentDriver,
) -> None:
    incident = long_incident
    await take_first_step(incident)
    await fail_steps(incident, "first", "second")
    await incident.happens("created", 3)
    await incident.wake_until_continued()
    await rests(incident, Phase.REMEDIATING)
    third = incident.cluster.request_of("third")
    incident.cluster.requests = {third.uid: third}
    await fail_steps(incident, "third")
    state = await rests(incident, Phase.EXHAUSTED)
    assert set(state.memory.spent) == {FIRST.template, SECOND.template, THIRD.template}
    await incident.sees(escalating(expired(), *ESCALATION))
    await rests(incident, Phase.EXHAUSTED)
    assert incident.cluster.tried == ["first", "second", "third"]


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
            await exhaust(incident)
        memory = (await incident.state()).memory
        await incident.handle.terminate()
        await incident.carry_on(memory, escalating())
        await incident.reaches(Phase.WAITING)
        await incident.resume()
        async with incident.detector():
            await incident.happens("created", 4)
            await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried[3:] == ["first"]
