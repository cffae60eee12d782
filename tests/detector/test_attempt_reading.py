"""Remediations that ended before the detector started are read from the closed incidents in Temporal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode

from detector.attempts.attempts import NOT_READ, AttemptReading, Attempts
from detector.dispatching.dispatch import Dispatch
from detector.dispatching.incident_calls import IncidentCalls, ListedEnd
from detector.limits.in_flight import Remediated
from detector.limits.remediation_records import RecentStarts
from detector.state.cluster_state import ClusterState
from devcluster.polling import until
from devcluster.temporal import TemporalServer
from health.gate.back_off import EndedAttempt
from health.model.observation import Hold, Observation
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.target import TargetName
from health.policy.limits import HOUR
from health.policy.policy import Policy
from runtime import search_attributes
from runtime.payload_codec import PayloadKeys, with_keys
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.api.ports import free_port
from tests.support.api.tcp_proxy import TcpProxy
from tests.support.cluster.temporal_servers import client_of
from tests.support.state.small_cluster import CHECK
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import MINUTE, NOW, without_limits
from tests.support.values.payload_keys import THIS_YEAR, keys_file
from workflows.messages import (
    ATTEMPT,
    ATTEMPT_ENDED,
    INCIDENT_MEMO,
    WORKFLOW,
    EarlierAttempt,
    RemediationInput,
)

LIMIT = timedelta(minutes=30)


async def note_end(client: Client, incident: IncidentReference, attempt: EndedAttempt) -> None:
    """Start an incident with a noted end; no worker runs it."""
    noted: list[SearchAttributePair[Any]] = [
        SearchAttributePair(ATTEMPT, attempt.number),
        SearchAttributePair(ATTEMPT_ENDED, attempt.ended),
    ]
    handle = await client.start_workflow(
        WORKFLOW,
        RemediationInput(incident=incident),
        id=incident.workflow_id,
        task_queue=f"nobody-{incident.cluster}",
        memo={INCIDENT_MEMO: incident},
        search_attributes=TypedSearchAttributes(
            [*search_attributes.of_incident(incident).search_attributes, *noted]
        ),
    )
    await handle.terminate("it is only listed")


class Reader:
    """A detector that takes the lead of its own cluster."""

    def __init__(self, client: Client, limit: timedelta = LIMIT) -> None:
        self.client = client
        self.cluster = f"main-{uuid4().hex[:4]}"
        self.problems = Problems()
        cluster_state = ClusterState(self.cluster)
        self.policy = Policy(back_off_limit=limit)
        self.attempts = Attempts(lambda: self.policy, cluster_state, lambda: NOW)
        calls = IncidentCalls(lambda: self.client, self.cluster)
        self.reading = AttemptReading(calls, self.attempts, cluster_state, self.problems)
        self._task: asyncio.Task[None] | None = None

    def incident(self, name: str) -> IncidentReference:
        check = CheckReference(kind="NodeHealthCheck", name="workers")
        target = TargetReference(kind="Node", name=name, uid=uuid4().hex)
        return IncidentReference(cluster=self.cluster, check=check, target=target)

    async def ended(self, name: str, number: int, at: datetime) -> None:
        await note_end(self.client, self.incident(name), EndedAttempt(number, at))

    async def until_listed(self, count: int) -> None:
        calls = IncidentCalls(lambda: self.client, self.cluster)

        async def all_are_listed() -> bool:
            return len(await calls.ended(NOW - 9 * LIMIT)) == count

        await until(all_are_listed, within=timedelta(seconds=60), otherwise="not all are listed")

    def lead(self) -> None:
        self._task = asyncio.create_task(self.reading.lead())

    def latest(self, name: str) -> EndedAttempt | None:
        return self.attempts.before(TargetName("Node", "", name)).latest

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


@pytest.fixture
async def client(temporal_server: TemporalServer) -> Client:
    return await client_of(temporal_server)


@pytest.fixture
async def reader(client: Client) -> AsyncIterator[Reader]:
    made = Reader(client)
    yield made
    await made.stop()


@pytest.mark.rule("rule 14")
async def test_latest_end_of_each_target_is_known_after_a_restart(reader: Reader) -> None:
    await reader.ended("node-1", 2, NOW - 5 * MINUTE)
    await reader.ended("node-1", 1, NOW - 20 * MINUTE)
    await reader.ended("node-2", 7, NOW - 59 * MINUTE)
    await reader.until_listed(3)

    reader.lead()
    await reader.reading.wait_tried()
    await eventually(lambda: not reader.attempts.unread)

    assert reader.latest("node-1") == EndedAttempt(2, NOW - 5 * MINUTE)
    assert reader.latest("node-2") == EndedAttempt(7, NOW - 59 * MINUTE)


@pytest.mark.rule("rule 14")
async def test_attempts_that_are_too_old_or_of_other_clusters_are_left_out(
    reader: Reader, client: Client
) -> None:
    other = Reader(client)
    await other.ended("node-1", 1, NOW - MINUTE)
    await other.until_listed(1)
    await reader.ended("node-2", 1, NOW - 2 * LIMIT - MINUTE)
    await reader.until_listed(1)

    reader.lead()
    await eventually(lambda: not reader.attempts.unread)

    assert reader.latest("node-1") is None
    assert reader.latest("node-2") is None


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 3")
async def test_until_temporal_answers_it_is_not_known_and_that_is_said(
    temporal_server: TemporalServer,
) -> None:
    async with TcpProxy(f"//{temporal_server.address}") as proxy:
        client = await Client.connect(
            proxy.address, namespace=temporal_server.namespace, data_converter=pydantic_data_converter
        )
    reader = Reader(client)
    reader.lead()
    try:
        await reader.reading.wait_tried()
        await eventually(lambda: bool(reader.problems.sentences))
        assert reader.attempts.unread == NOT_READ
        assert reader.problems.sentences[0].startswith("ended remediations: ")

        async with proxy:
            await eventually(lambda: not reader.attempts.unread)
            assert not reader.problems.sentences
    finally:
        await reader.stop()


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 3")
async def test_until_the_key_of_what_ended_is_there_it_is_not_known_and_that_is_said(
    client: Client, tmp_path: Path
) -> None:
    keys = PayloadKeys.read(str(keys_file(tmp_path / "keys", THIS_YEAR)))
    encrypting = Client(**(client.config() | {"data_converter": with_keys(keys)}))
    reader = Reader(encrypting)
    await reader.ended("node-1", 2, NOW - 5 * MINUTE)
    await reader.until_listed(1)
    reader.client = Client(**(client.config() | {"data_converter": with_keys(PayloadKeys.read(None))}))
    reader.lead()
    await eventually(lambda: bool(reader.problems.sentences))
    assert reader.attempts.unread == NOT_READ
    lacking = "encrypted with the key '2026', and PARAMEDIC_PAYLOAD_KEYS_FILE is not set"
    assert reader.problems.sentences == (f"ended remediations: a payload in Temporal is {lacking}",)

    reader.client = encrypting
    await eventually(lambda: not reader.attempts.unread)
    assert reader.latest("node-1") == EndedAttempt(2, NOW - 5 * MINUTE)
    await reader.stop()


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 14/limit")
async def test_nothing_is_read_where_back_off_is_off() -> None:
    nobody = await Client.connect(f"127.0.0.1:{free_port()}", lazy=True)
    reader = Reader(nobody, limit=timedelta())

    reader.lead()
    await reader.reading.wait_tried()

    assert not reader.problems.sentences
    await reader.stop()


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 14/limit")
async def test_ended_attempts_are_read_as_soon_as_a_limit_needs_them(client: Client) -> None:
    reader = Reader(client, limit=timedelta())
    await reader.ended("node-1", 2, NOW - 5 * MINUTE)
    await reader.until_listed(1)
    reader.lead()
    await reader.reading.wait_tried()
    assert reader.latest("node-1") is None

    reader.policy = Policy(back_off_limit=LIMIT)

    await eventually(lambda: reader.latest("node-1") == EndedAttempt(2, NOW - 5 * MINUTE))
    await reader.stop()


class WithoutVisibility(IncidentCalls):
    """Temporal answers no list, as while `frontend.namespaceRPS.visibility` is exhausted."""

    async def ended(self, since: datetime) -> list[ListedEnd]:
        raise RPCError(f"namespace rate limit exceeded {since}", RPCStatusCode.RESOURCE_EXHAUSTED, b"")


class NewLeader:
    """A detector that has just begun to lead, while Temporal answers no list."""

    def __init__(self, client: Client) -> None:
        self.machines = machines = SmallMachines()
        machines.check()
        machines.attempts = self.attempts = Attempts(Policy, machines.cluster_state, lambda: machines.now)
        self.calls = WithoutVisibility(lambda: client, machines.cluster_state.cluster)
        self.reading = AttemptReading(self.calls, self.attempts, machines.cluster_state, Problems())
        self.dispatch = Dispatch(
            self.calls,
            machines.cluster_state,
            self.observe,
            is_leader=lambda: True,
            now=lambda: machines.now,
            problems=Problems(),
            answered=without_limits,
            earlier_attempts=self.reading,
        )

    def observe(self, incident: IncidentReference) -> Observation:
        return self.machines.observe(incident.target.name, check=incident.check.name)

    def unhealthy(self, created: timedelta) -> IncidentReference:
        name = f"m-{uuid4().hex[:8]}"
        self.machines.node(name, ready="Unknown")
        self.machines.machine(name, node=name, created=self.machines.now - created)
        return self.machines.incident(name)

    async def start(self, incident: IncidentReference) -> Hold | None:
        """Start the incident; returns what holds it then."""
        await self.dispatch.call(incident)
        return self.observe(incident).hold


@pytest.mark.rule("rule 14")
async def test_an_old_target_needs_no_list_of_temporal(client: Client) -> None:
    leader = NewLeader(client)
    incident = leader.unhealthy(created=timedelta(hours=3))
    held = leader.observe(incident).hold
    assert held is not None
    assert held.message == NOT_READ

    assert await leader.start(incident) is None


@pytest.mark.rule("rule 14")
async def test_a_target_that_may_replace_another_one_waits_for_the_list(client: Client) -> None:
    leader = NewLeader(client)
    held = await leader.start(leader.unhealthy(created=timedelta(minutes=59)))
    assert held is not None
    assert held.message == NOT_READ


@pytest.mark.rule("rule 14")
@pytest.mark.parametrize("is_noted_by", ["itself", "its memo", "another check"])
async def test_the_latest_remediation_of_one_target_is_known_without_a_list(
    client: Client, is_noted_by: str
) -> None:
    leader = NewLeader(client)
    incident = leader.unhealthy(created=timedelta(hours=3))
    noting = incident
    if is_noted_by == "another check":
        leader.machines.check("others")
        noting = leader.machines.incident(incident.target.name, "others")
    earlier = EndedAttempt(3, NOW - MINUTE)
    if is_noted_by == "its memo":
        told = EarlierAttempt(number=earlier.number, ended=earlier.ended)
        await leader.calls.start(noting, leader.observe(noting), told)
    else:
        await note_end(client, noting, earlier)

    held = await leader.start(incident)

    assert held is not None
    assert held.message.startswith("4th remediation in a row")


@pytest.mark.rule("rule 14")
async def test_an_incident_that_began_later_passes_on_the_remediation_before_it(client: Client) -> None:
    leader = NewLeader(client)
    incident = leader.unhealthy(created=timedelta(hours=3))
    await note_end(client, incident, EndedAttempt(3, NOW - MINUTE))
    await leader.start(incident)

    assert await leader.calls.latest_attempts(incident) == (EndedAttempt(3, NOW - MINUTE),)


@pytest.mark.rule("rule 14")
async def test_an_incident_that_does_not_tell_the_remediation_before_it_waits_for_the_list(
    client: Client,
) -> None:
    leader = NewLeader(client)
    incident = leader.unhealthy(created=timedelta(hours=3))
    await leader.calls.start(incident, leader.observe(incident), None)

    held = await leader.start(incident)

    assert held is not None
    assert held.message == NOT_READ


@pytest.mark.rule("rule 14")
async def test_an_incident_without_an_earlier_remediation_says_so(client: Client) -> None:
    leader = NewLeader(client)
    incident = leader.unhealthy(created=timedelta(hours=3))
    assert await leader.start(incident) is None
    assert await leader.calls.latest_attempts(incident) == ()


NODE = Remediated(CHECK, "node-1")


def count(began: list[datetime], ended: list[datetime]) -> int:
    starts = RecentStarts()
    for time in began:
        starts.note(NODE, time)
    for time in ended:
        starts.note_ended(NODE, time)
    return sum(time > NOW - HOUR for time in starts.of(NODE))


def ago(minutes: float) -> datetime:
    return NOW - minutes * MINUTE


@pytest.mark.rule("rule 43")
@pytest.mark.parametrize(
    ("began", "ended", "number"),
    [
        pytest.param([], [ago(40), ago(10)], 2, id="two of one node, none seen to begin"),
        pytest.param([], [ago(10), ago(40)], 2, id="the same, listed the other way round"),
        pytest.param([ago(50)], [ago(40)], 1, id="one that was seen to begin"),
        pytest.param([ago(50)], [ago(40), ago(10)], 2, id="the first was seen to begin"),
        pytest.param([ago(20)], [ago(40), ago(10)], 2, id="the second was seen to begin"),
        pytest.param([ago(5)], [ago(40), ago(10)], 3, id="a third is under way"),
        pytest.param([ago(50), ago(45)], [ago(40)], 2, id="its request was lost and made anew"),
        pytest.param([], [ago(70)], 0, id="over an hour ago"),
    ],
)
def test_count(began: list[datetime], ended: list[datetime], number: int) -> None:
    assert count(began, ended) == number


@pytest.mark.rule("rule 43")
@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=8), st.randoms())
def test_each_remediation_counts_once_in_whatever_order_and_however_often_it_is_listed(
    remediations: list[tuple[int, bool]], random: Random
) -> None:
    now, began, ended = NOW - HOUR, [], []
    for minutes, is_seen in remediations:
        now += timedelta(seconds=30)
        began += [now] if is_seen else []
        now += minutes * MINUTE
        ended.append(now)
    listed = ended * 2
    random.shuffle(listed)
    assert count(began, listed) == len(remediations)


@pytest.mark.rule("rule 43")
def test_listed_start_is_forgotten_after_an_hour() -> None:
    starts = RecentStarts()
    starts.note(NODE, ago(50))
    assert starts.note_ended(NODE, ago(40))
    assert not starts.note_ended(NODE, ago(40))
    starts.forget(ago(30))
    assert starts.of(NODE) == ()
    assert starts.note_ended(NODE, ago(40)), "the start was forgotten"
