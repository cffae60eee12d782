"""Fleet: many nodes of one cluster, their incidents as real workflows, and a detector by script."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerDeploymentConfig

from detector.dispatching.incident_calls import IncidentCalls
from devcluster.temporal import TemporalServer
from health.model.admission import Intent
from health.model.moves import Phase
from health.model.observation import Observation, TargetState
from health.model.references import CheckReference, IncidentReference, RequestReference, TargetReference
from health.model.request_snapshot import RequestSnapshot
from tests.support.cluster.temporal_servers import client_of, end_workflows
from tests.support.story.runs import is_idle
from tests.support.values.builders import without_limits
from tests.support.values.observations import expired
from workflows.contracts import (
    ACT,
    CLEAN_UP,
    OBSERVE,
    RENEW,
    ActInput,
    ActResult,
    CleanUpInput,
    CleanUpResult,
    ObserveInput,
    RenewInput,
    RenewResult,
    detector_queue,
    worker_queue,
)
from workflows.messages import State
from workflows.remediation import Remediation

PATIENCE_SECONDS = 60
POLL_SECONDS = 0.05


class Fleet:
    def __init__(self, client: Client, cluster: str) -> None:
        self.client = client
        self.cluster = cluster
        self.observations: dict[str, Observation] = {}
        self.requests: dict[str, RequestSnapshot] = {}
        self._calls = IncidentCalls(lambda: client, cluster)

    def incident(self, node: str, check: str = "workers") -> IncidentReference:
        return IncidentReference(
            cluster=self.cluster,
            check=CheckReference(kind="NodeHealthCheck", name=check),
            target=TargetReference(kind="Node", name=node, uid=f"{node[-4:]:0>8}-2222"),
        )

    def handle(self, node: str, check: str = "workers") -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(self.incident(node, check).workflow_id)

    async def fail(self, node: str, observation: Observation, check: str = "workers") -> None:
        """Start the incident of a node, as the detector does."""
        self.observations[node] = _about(observation, node)
        incident = self.incident(node, check)
        await self._calls.start(incident, without_limits(incident, self.observations[node], Intent()))

    async def see(self, node: str, observation: Observation, check: str = "workers") -> None:
        """The detector sees something else of the node."""
        self.observations[node] = _about(observation, node)
        await self._calls.wake(self.incident(node, check))

    async def state(self, node: str, check: str = "workers") -> State:
        state: State = await self.handle(node, check).query("state", result_type=State)
        return state

    async def reaches(self, node: str, phase: Phase, check: str = "workers") -> None:
        """Return when the incident is idle in the phase; it enters a phase before it asks or acts."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await self._rests_in(node, phase, check):  # noqa: ASYNC110  a query is all there is
                await asyncio.sleep(POLL_SECONDS)

    async def _rests_in(self, node: str, phase: Phase, check: str) -> bool:
        if not await is_idle(self.handle(node, check)):
            return False
        state = await self.state(node, check)
        return state.phase is phase and state.observation is not None

    async def listed(self, status: str, count: int) -> None:
        """Return when Temporal lists so many; its lists are a little late."""
        query = f"ParamedicCluster = '{self.cluster}' AND ExecutionStatus = '{status}'"
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await self.client.count_workflows(query)).count != count:  # noqa: ASYNC110  nothing signals it
                await asyncio.sleep(POLL_SECONDS)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        async with self.detecting(), self.worker(self.client):
            yield

    @asynccontextmanager
    async def detecting(self) -> AsyncIterator[None]:
        observe: list[Callable[..., Any]] = [self.observe]
        async with Worker(self.client, task_queue=detector_queue(self.cluster), activities=observe):
            yield

    def worker(self, client: Client, version: WorkerDeploymentConfig | None = None) -> Worker:
        """A worker on a connection of its own where several are to run."""
        return Worker(
            client,
            task_queue=worker_queue(self.cluster),
            workflows=[Remediation],
            activities=[self.act, self.clean_up, self.renew],
            workflow_runner=UnsandboxedWorkflowRunner(),
            deployment_config=version,
        )

    async def end(self) -> None:
        await end_workflows(self.client, self.cluster)

    @activity.defn(name=OBSERVE.name)
    async def observe(self, question: ObserveInput) -> Observation:
        node = question.incident.target.name
        requests = (self.requests[node],) if node in self.requests else ()
        now = activity.info().started_time
        seen = self.observations[node].model_copy(update={"requests": requests, "answered_at": now})
        return without_limits(question.incident, seen, question.intent)

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        node = act.incident.target.name
        reference = RequestReference(
            api_version="example.com/v1",
            kind="Reboot",
            namespace="ns",
            name=node,
            uid=f"request-{node}",
            template=act.step.template.name,
        )
        self.requests[node] = RequestSnapshot(reference=reference, created=datetime.now(UTC))
        return ActResult.requested(self.requests[node])

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, clean_up: CleanUpInput) -> CleanUpResult:
        self.requests.pop(clean_up.incident.target.name, None)
        return CleanUpResult()

    @activity.defn(name=RENEW.name)
    async def renew(self, renewal: RenewInput) -> RenewResult:  # noqa: ARG002  every Lease is kept
        return RenewResult()


@asynccontextmanager
async def fleet_of(server: TemporalServer) -> AsyncIterator[Fleet]:
    """One without detector and worker, on that server."""
    fleet = Fleet(await client_of(server), f"c{uuid.uuid4().hex[:6]}-1a2b")
    yield fleet
    await fleet.end()


def _about(observation: Observation, node: str) -> Observation:
    """`observation` with the words that a real detector finds, about this node."""
    if observation.state not in (TargetState.EXPIRED, TargetState.WAITING):
        return observation
    lasts = "longer than 5m" if observation.state is expired().state else "waiting for 5m"
    return observation.model_copy(
        update={"subject": f"Node/{node}", "reason": f"{observation.fact}, {lasts}"}
    )
