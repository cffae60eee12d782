"""Remediations that a user started in the Temporal UI: without a memo, or with an arbitrary one.

"Start Workflow Like This One" copies input and search attributes, and no memo.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from cli.incidents.names import find_open, incident_name
from cli.incidents.visibility import Filter, open_incidents
from detector.attempts.attempts import Attempts
from detector.dispatching.dispatch import Dispatch
from detector.dispatching.incident_calls import MOST_ATTEMPTS, IncidentCalls
from devcluster.polling import until
from devcluster.temporal import TemporalServer
from health.gate.back_off import EndedAttempt
from health.model.admission import Intent
from health.model.references import UID_LENGTH, IncidentReference, TargetReference
from health.model.target import TargetName
from health.policy.policy import Policy
from objects.bounds import LATEST
from runtime import search_attributes
from runtime.problems import Problems
from tests.detector.test_ended_incidents import Detector
from tests.support.cluster.temporal_servers import client_of, end_workflows
from tests.support.state.small_cluster import CHECK
from tests.support.values.builders import NoEarlierAttempts, without_limits
from workflows.messages import ATTEMPT, ATTEMPT_ENDED, INCIDENT_MEMO, WAKE, WORKFLOW, RemediationInput
from workflows.remediation import Remediation

pytestmark = pytest.mark.rule("rule 8/workflow")

SOON = timedelta(seconds=0.3)
WITHIN = timedelta(seconds=20)
ENDED = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
FAR = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


class Person:
    """A user who starts workflows of one cluster, and a detector of that cluster."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.detector = Detector()
        self.detector.cluster.cluster_state.cluster = self.cluster = f"main-{uuid4().hex[:4]}"
        self.calls = IncidentCalls(lambda: client, self.cluster)
        self.started: list[WorkflowHandle[Any, Any]] = []
        cluster_state, now = self.detector.cluster.cluster_state, self.detector.now
        self.dispatch = Dispatch(
            self.calls,
            cluster_state,
            self.detector.observe,
            is_leader=lambda: True,
            now=now,
            problems=Problems(),
            answered=without_limits,
            earlier_attempts=NoEarlierAttempts(),
        )
        cluster_state.event_handlers.add_change_handler(self.dispatch.changed)

    def incident(self, name: str) -> IncidentReference:
        target = TargetReference(kind="Node", name=name, uid=f"uid-{name}")
        return IncidentReference(cluster=self.cluster, check=CHECK, target=target)

    async def start(
        self, name: str, *, id_: str = "", memo: dict[str, Any] | None = None, **noted: Any
    ) -> WorkflowHandle[Any, Any]:
        """Start a workflow that no worker runs."""
        incident = self.incident(name)
        attributes: list[SearchAttributePair[Any]] = [
            *search_attributes.of_incident(incident).search_attributes,
            *(SearchAttributePair(ATTEMPT, number) for number in [noted.get("number")] if number is not None),
            *(SearchAttributePair(ATTEMPT_ENDED, time) for time in [noted.get("ended")] if time is not None),
        ]
        handle = await self.client.start_workflow(
            WORKFLOW,
            RemediationInput(incident=incident),
            id=id_ or incident.workflow_id,
            task_queue=f"nobody-{self.cluster}",
            memo=memo,
            search_attributes=TypedSearchAttributes(attributes),
        )
        self.started.append(handle)
        return handle

    async def until_listed(self, count: int) -> None:
        async def all_are_listed() -> bool:
            query = f"ParamedicCluster = '{self.cluster}'"
            return (await self.client.count_workflows(query)).count == count

        await until(all_are_listed, within=WITHIN, otherwise="not all are listed")

    async def until_runs(self, incident: IncidentReference) -> None:
        async def runs() -> bool:
            query = f"WorkflowId = '{incident.workflow_id}' AND ExecutionStatus = 'Running'"
            return (await self.client.count_workflows(query)).count == 1

        await until(runs, within=WITHIN, otherwise=f"{incident.workflow_id} does not run")

    async def until_woken(self, handle: WorkflowHandle[Any, Any], times: int = 1) -> None:
        async def is_woken() -> bool:
            return await self.looks(handle) >= times

        await until(is_woken, within=WITHIN, otherwise=f"{handle.id} was never woken")

    async def looks(self, handle: WorkflowHandle[Any, Any]) -> int:
        history = await self.client.get_workflow_handle(handle.id).fetch_history()
        signals = [event for event in history.events if event.event_type == _SIGNALED]
        names = [event.workflow_execution_signaled_event_attributes.signal_name for event in signals]
        return names.count(WAKE)


_SIGNALED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED


@pytest.fixture
async def person(temporal_server: TemporalServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Person]:
    monkeypatch.setattr("detector.dispatching.dispatch.RECONCILE_EVERY", SOON)
    client = await client_of(temporal_server)
    made = Person(client)
    yield made
    await end_workflows(client, made.cluster)


@pytest.fixture
async def leading(person: Person) -> AsyncIterator[asyncio.Task[None]]:
    """Run the dispatch of the detector over the workflows that the test has started; it must not end."""
    strange: dict[str, Any] = {INCIDENT_MEMO: {"cluster": ["none"]}}
    foreign = {INCIDENT_MEMO: person.incident("another")}
    await person.start("wanted")
    await person.start("healthy")
    await person.start("strange", memo=strange)
    await person.start("foreign", memo=foreign)
    await person.start("by-hand", id_=f"by-hand-{person.cluster}")
    await person.until_listed(5)
    task = asyncio.create_task(person.dispatch.lead())
    yield task
    assert not task.done()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_dispatch_goes_on_and_wakes_those_that_do_not_say_which_incident_they_are(
    person: Person, leading: asyncio.Task[None], caplog: pytest.LogCaptureFixture
) -> None:
    cluster, failed = person.detector.cluster, person.detector.now() - timedelta(minutes=9)
    cluster.check(minHealthy=0)
    cluster.node("wanted", ready="Unknown", since=failed)
    cluster.node("new", ready="Unknown", since=failed)

    await person.until_runs(person.incident("new"))
    for handle in person.started:
        await person.until_woken(handle)

    healthy = person.started[1]
    await person.until_woken(healthy, 3)  # woken at each reconciliation, until it asks
    told = [record for record in caplog.records if getattr(record, "part", "") == healthy.id]
    assert [record.levelno for record in told] == [logging.WARNING]
    wanted = await person.client.get_workflow_handle(person.started[0].id).describe()
    assert wanted.run_id == person.started[0].first_execution_run_id
    assert not leading.done()


async def test_one_that_asked_is_known_and_stays_known(person: Person, leading: asyncio.Task[None]) -> None:
    healthy = person.incident("healthy")
    await person.until_woken(person.started[1])
    seen = person.detector.observe(healthy)
    person.dispatch.answer(healthy, seen, seen, Intent())
    looks = await person.looks(person.started[1])

    await person.until_woken(person.started[4], await person.looks(person.started[4]) + 3)

    assert healthy in [entry.incident for entry in person.dispatch.open_incidents]
    assert await person.looks(person.started[1]) <= looks + 1  # one lookup may have been under way
    assert not leading.done()


@pytest.mark.rule("rule 14")
async def test_copy_of_an_ended_incident_under_the_id_of_another_is_no_remediation_of_that(
    person: Person,
) -> None:
    """It has the search attributes of the incident, and has failed at once."""
    queue = f"nobody-{person.cluster}"
    async with Worker(
        person.client, task_queue=queue, workflows=[Remediation], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        copy = await person.start("first", id_=person.incident("second").workflow_id, number=3, ended=ENDED)
        with pytest.raises(WorkflowFailureError):
            await copy.result()
    await person.start("third", number=2, ended=ENDED)
    await person.until_listed(2)
    since = ENDED - timedelta(hours=1)

    (end,) = await person.calls.ended(since)
    assert end.attempts == ((TargetName("Node", "", "third"), EndedAttempt(2, ENDED)),)
    assert end.incident == named(person, "third")


def named(person: Person, name: str) -> IncidentReference:
    """The incident as its workflow id names it, with a part of the uid."""
    incident = person.incident(name)
    return incident.model_copy(
        update={"target": incident.target.model_copy(update={"uid": incident.target.uid[:UID_LENGTH]})}
    )


async def test_incident_of_a_long_name_is_started_listed_and_found(person: Person) -> None:
    name = "n" * 253
    incident = person.incident(name)
    await person.calls.start(incident, person.detector.observe(incident))
    await person.until_runs(incident)
    assert [listed.incident for listed in await person.calls.running()] == [incident]
    for named in (name, incident.workflow_id, incident.full_id):
        summary = await find_open(person.client, incident_name(named), person.cluster, "")
        assert summary.incident == incident


@pytest.mark.rule("rule 14")
async def test_ended_remediations_count_by_what_can_be_read_of_them(person: Person) -> None:
    memo = {INCIDENT_MEMO: person.incident("without-number")}
    await person.start("without-memo", number=2, ended=ENDED)
    await person.start("without-number", memo=memo, ended=ENDED)
    await person.start("many", number=2**62, ended=ENDED)
    await person.start("fewer", number=-3, ended=ENDED)
    await person.start("far", number=1, ended=FAR)
    await person.start("strange", memo={INCIDENT_MEMO: "?"}, number=4, ended=ENDED)
    await person.start("nameless", id_=f"nameless-{person.cluster}", number=4, ended=ENDED)
    await person.until_listed(7)

    listed = await person.calls.ended(ENDED - timedelta(hours=1))
    found = dict(attempt for end in listed for attempt in end.attempts)

    assert found == {
        TargetName("Node", "", name): EndedAttempt(number, ended)
        for name, number, ended in [
            ("without-memo", 2, ENDED),
            ("without-number", 1, ENDED),
            ("many", MOST_ATTEMPTS, ENDED),
            ("fewer", 1, ENDED),
            ("far", 1, LATEST),
            ("strange", 4, ENDED),
        ]
    }
    attempts = Attempts(Policy, person.detector.cluster.cluster_state, person.detector.now)
    for name, attempt in found.items():
        attempts.note(name, attempt)
    assert attempts.before(TargetName("Node", "", "far")).latest is None


async def test_people_are_shown_them_by_their_ids(person: Person) -> None:
    """An id of a long name is cut, so that search attributes name the incident."""
    long = "n" * 240
    await person.start("without-memo")
    await person.start("strange", memo={INCIDENT_MEMO: 7})
    await person.start(long, memo={INCIDENT_MEMO: 7})
    await person.start("nameless", id_=f"nameless-{person.cluster}")
    await person.start("nameless", id_=f"{'x' * 240}~/{person.cluster}")
    await person.until_listed(5)

    summaries = await open_incidents(person.client, Filter(cluster=person.cluster))

    assert sorted(str(summary.incident.target) for summary in summaries) == [
        f"Node/{long}",
        "Node/strange",
        "Node/without-memo",
    ]
    assert {summary.incident.workflow_id for summary in summaries} == {
        start.id for start in person.started[:3]
    }
