"""An incident's memory and trace go from run to run, and a copy of a workflow starts without the memory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, Interceptor
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from health.model.moves import Blocked, Outcome, Phase
from health.runbook.orders import AbortOrder, HoldOrder
from health.runbook.state import Memory
from runtime.connections import traced
from runtime.settings import Settings
from tests.support.api.otlp_receiver import otlp_receiver
from tests.support.story import workers
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import fail_steps, take_first_step
from tests.support.story.settling import pass_until, rests
from tests.support.values.memories import HELD_LEASE
from tests.support.values.observations import FIRST, expired, healthy, held
from tests.workflows.checked import checked
from workflows.messages import BLOCKED

A_BIT = timedelta(seconds=1)
UPSERTED = EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES
POWER_WORK = AbortOrder(reason="power work", for_seconds=3600)


@pytest.mark.rule("rule 4")
async def test_hold_is_kept_over_runs_and_not_by_a_copy_of_one(long_incident: IncidentDriver) -> None:
    incident = long_incident
    await incident.start(held())
    began = [words.since for words in (await incident.reaches(Phase.HELD)).memory.holds]
    await incident.hold(HoldOrder(reason="disk swap"))
    await rests(incident, Phase.HELD)
    await incident.wake_until_continued()
    assert [words.since for words in (await incident.reaches(Phase.HELD)).memory.holds] == began != []
    assert "disk swap" in (await incident.reaches(Phase.HELD)).details
    assert (await incident.handle.describe()).typed_search_attributes.get(BLOCKED) == Blocked.HELD
    assert UPSERTED not in {event.event_type for event in await incident.events()}
    start = await incident.start_input()
    assert start.memory.held
    await incident.handle.terminate()

    incident.cluster.note("resume", datetime.now(UTC))  # the order is for the run that is over
    incident.cluster.observation = expired()
    await incident.start_bare(start)
    await incident.reaches(Phase.REMEDIATING)
    assert not (await incident.state()).memory.held


@pytest.mark.rule("NHC 2.7/restart")
async def test_new_run_in_the_middle_of_an_escalation_goes_on_where_it_was_and_its_result_covers_all(
    long_incident: IncidentDriver,
) -> None:
    incident = long_incident
    await take_first_step(incident)
    begun = (await incident.handle.describe()).start_time
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    await incident.hold(HoldOrder(reason="disk swap"))
    before = await rests(incident, Phase.REMEDIATING)
    await incident.wake_until_continued()
    after = await rests(incident, Phase.REMEDIATING)
    assert after.requests == before.requests
    assert replace(after.memory, began=None, timeline=before.memory.timeline) == before.memory
    assert len(after.memory.timeline.entries) >= len(before.memory.timeline.entries)
    assert after.memory.spent == (FIRST.template,)
    assert incident.cluster.count("act") == 2

    await incident.resume()
    second = incident.cluster.request_of("second")
    await pass_until(incident, second.created + timedelta(seconds=120) + A_BIT)
    await incident.happens("created", 3)
    assert incident.cluster.tried == ["first", "second", "third"]
    assert incident.cluster.count("annotate") == 2

    await incident.sees(healthy())
    result = await incident.result()
    assert result.outcome is Outcome.REMEDIATED
    assert abs(result.started - begun) < A_BIT
    assert [request.uid for request in result.requests] == ["request-1", "request-2", "request-3"]
    assert [order.reason for order in result.orders] == ["disk swap", ""]


async def test_all_runs_of_an_incident_are_one_trace_that_names_its_workflow(
    short_histories: WorkflowEnvironment, replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    incident = IncidentDriver(short_histories, f"test-{uuid4().hex[:8]}")
    async with otlp_receiver() as receiver, checked(incident, replayer):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        async with (
            traced(Settings(cluster=incident.name), "detector") as of_detector,
            traced(Settings(cluster=incident.name), "worker") as of_worker,
            workers.worker(_with(incident.client, of_worker), incident.name, incident.cluster.worker),
            workers.detector(_with(incident.client, of_detector), incident.name, incident.cluster.detector),
        ):
            incident.client = _with(incident.client, of_detector)
            await incident.start(held())
            await rests(incident, Phase.HELD)
            await incident.wake_until_continued()
            await incident.sees(expired())
            await incident.reaches(Phase.REMEDIATING)
            await incident.sees(healthy())
            assert await incident.outcome() is Outcome.REMEDIATED
    (root,) = [span for span in receiver.spans if span.name == "StartWorkflow:Remediation"]
    spans = [span for span in receiver.spans if span.trace == root.trace]
    assert {span.parent for span in spans} <= {span.span for span in spans} | {""}
    assert {(span.service, span.name) for span in spans} >= {
        ("worker", "RunWorkflow:Remediation"),
        ("worker", "HandleSignal:wake"),
        ("detector", "RunActivity:observe"),
        ("worker", "RunActivity:act"),
        ("worker", "CompleteWorkflow:Remediation"),
    }
    assert len({run for span in spans if (run := span.attributes.get("temporalRunID"))}) == 2
    of_incident = {span.attributes["temporalWorkflowID"] for span in spans}
    assert of_incident == {incident.reference.workflow_id}


def _with(client: Client, interceptors: tuple[Interceptor, ...]) -> Client:
    return Client(
        client.service_client,
        namespace=client.namespace,
        data_converter=client.data_converter,
        interceptors=interceptors,
    )


async def test_new_run_keeps_what_the_cluster_does_not_show(incident: IncidentDriver) -> None:
    request = incident.cluster.put_request()
    incident.cluster.requests.clear()
    memory = Memory(requests=(request.reference,), has_acted=True, lease=HELD_LEASE)
    await incident.carry_on(memory, healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("clean_up") == 1


async def test_new_run_asks_before_it_does_anything(incident: IncidentDriver) -> None:
    await incident.carry_on(Memory(), held())
    await incident.reaches(Phase.HELD)
    assert [entry.event for entry in incident.cluster.log] == ["observe", "answered"]
