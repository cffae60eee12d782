"""Queries of incidents that no worker has cached: each is a replay, and neither repeats nor stops an act."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import PollerBehaviorSimpleMaximum, UnsandboxedWorkflowRunner, Worker

from detector.dispatching.incident_calls import IncidentCalls
from health.model.moves import Phase
from health.model.observation import Observation
from health.model.references import IncidentReference, RequestReference
from health.model.request_snapshot import RequestSnapshot
from tests.support.values.builders import ADMITTED, incident_reference, without_limits
from tests.support.values.observations import expired
from worker.worker import POLLERS
from workflows.contracts import (
    ACT,
    OBSERVE,
    RENEW,
    ActInput,
    ActResult,
    ObserveInput,
    RenewInput,
    RenewResult,
    detector_queue,
    worker_queue,
)
from workflows.messages import State
from workflows.remediation import Remediation

INCIDENTS = 36
"""More than are queried at once, and many more than a worker's pollers; each event takes time here."""
SOME = 10
"""How many of them continue after the queries."""
AT_ONCE = 25
"""Concurrent calls of this test; a development server on a busy machine times out with more."""
LOOK_AGAIN_SECONDS = 0.2
"""Each poll replays each incident."""
PATIENCE = timedelta(minutes=5)
"""Longer than everything takes on a busy machine."""


class SlowCluster:
    """Acts wait at a gate, and are counted by target."""

    def __init__(self) -> None:
        self.acts = Counter[str]()
        self.requests: dict[str, RequestSnapshot] = {}
        self.all_act = asyncio.Event()
        self.gate = asyncio.Event()

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        name = act.incident.target.name
        self.acts[name] += 1
        if len(self.acts) == INCIDENTS:
            self.all_act.set()
        await self.gate.wait()
        reference = RequestReference(
            api_version="example.com/v1", kind="Reboot", namespace="ns", name=name, uid=name, template="t"
        )
        now = datetime.now(UTC)
        self.requests[name] = request = RequestSnapshot(reference=reference, created=now)
        return ActResult.requested(request, now)

    @activity.defn(name=OBSERVE.name)
    async def observe(self, question: ObserveInput) -> Observation:
        now, request = datetime.now(UTC), self.requests.get(question.incident.target.name)
        shown = (request,) if request else ()
        seen = expired().model_copy(update={"requests": shown, "answered_at": now, "seen_at": now})
        return without_limits(question.incident, seen, question.intent)

    @activity.defn(name=RENEW.name)
    async def renew(self, renewal: RenewInput) -> RenewResult:  # noqa: ARG002  nothing is due so soon
        return RenewResult()


@asynccontextmanager
async def workers_without_a_cache(client: Client, name: str, cluster: SlowCluster) -> AsyncIterator[None]:
    worker = Worker(
        client,
        task_queue=worker_queue(name),
        workflows=[Remediation],
        activities=[cluster.act, cluster.renew],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_cached_workflows=0,
        workflow_task_poller_behavior=PollerBehaviorSimpleMaximum(POLLERS),
        activity_task_poller_behavior=PollerBehaviorSimpleMaximum(POLLERS),
        max_concurrent_activities=INCIDENTS,
        # A busy machine may suspend a thread for longer than the two seconds of the deadlock detector.
        debug_mode=True,
    )
    async with worker, Worker(client, task_queue=detector_queue(name), activities=[cluster.observe]):
        yield


def references(cluster: str) -> list[IncidentReference]:
    base = incident_reference(cluster)
    names = (f"node-{number}" for number in range(INCIDENTS))
    targets = (base.target.model_copy(update={"name": name, "uid": f"{name}-of-{cluster}"}) for name in names)
    return [base.model_copy(update={"target": target}) for target in targets]


async def states(handles: Sequence[WorkflowHandle[object, object]]) -> list[State]:
    free = asyncio.Semaphore(AT_ONCE)

    async def state(handle: WorkflowHandle[object, object]) -> State:
        async with free:
            found: State = await handle.query("state", result_type=State, rpc_timeout=PATIENCE)
            return found

    return await asyncio.gather(*map(state, handles))


async def failed_tasks(handle: WorkflowHandle[object, object]) -> list[str]:
    """The failures of its workflow tasks; a task that was only late is retried and does not count here."""
    history = await handle.fetch_history()
    failed = (one for one in history.events if one.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED)
    return [event.workflow_task_failed_event_attributes.failure.message for event in failed]


async def test_dozens_of_uncached_incidents_answer_in_the_middle_of_their_acts_and_act_once(
    time_skipping: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the queries take longer than an act may.
    patient = dataclasses.replace(ACT, start_to_close=PATIENCE, schedule_to_close=PATIENCE)
    monkeypatch.setattr("workflows.calls.ACT", patient)
    client, name, cluster = time_skipping.client, f"test-{uuid4().hex[:8]}", SlowCluster()
    calls = IncidentCalls(lambda: client, name)
    incidents = references(name)
    handles = [client.get_workflow_handle(one.workflow_id) for one in incidents]

    free = asyncio.Semaphore(AT_ONCE)

    async def start(incident: IncidentReference) -> None:
        async with free:
            seen = expired().admitted(ADMITTED)
            await calls.start(incident, seen.model_copy(update={"seen_at": datetime.now(UTC)}))

    async with asyncio.timeout(PATIENCE.total_seconds()), workers_without_a_cache(client, name, cluster):
        await asyncio.gather(*map(start, incidents))
        await cluster.all_act.wait()
        assert {state.phase for state in await states(handles)} == {Phase.ACTING}
        assert await asyncio.gather(*map(failed_tasks, handles)) == [[]] * INCIDENTS
        assert set(cluster.acts.values()) == {1}

        few, rest = handles[:SOME], handles[SOME:]
        await asyncio.gather(*(handle.terminate() for handle in rest))
        cluster.gate.set()
        while {state.phase for state in await states(few)} != {Phase.REMEDIATING}:  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        assert await asyncio.gather(*map(failed_tasks, few)) == [[]] * SOME
        assert set(cluster.acts.values()) == {1}
        await asyncio.gather(*(handle.terminate() for handle in few))
