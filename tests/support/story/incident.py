"""One incident as detector, operators and a test see it, with its workers."""

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.api.update.v1 import UpdateRef
from temporalio.api.workflowservice.v1 import (
    PollWorkflowExecutionUpdateRequest,
    ResetWorkflowExecutionRequest,
)
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowHistory,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Interceptor, Worker

from detector.dispatching.incident_calls import IncidentCalls
from health.model.admission import Intent
from health.model.incident_result import IncidentResult
from health.model.moves import Outcome, Phase
from health.model.observation import Observation
from health.runbook.orders import AbortOrder, HoldOrder
from health.runbook.state import Memory
from runtime import search_attributes
from tests.support.story import workers
from tests.support.story.fake_cluster import Entry, FakeCluster
from tests.support.story.outcome import result_of
from tests.support.story.polling import PATIENCE_SECONDS, polled
from tests.support.story.runs import histories_of, summaries_of
from tests.support.values.builders import INCIDENT, incident_reference, without_limits
from workflows.contracts import worker_queue
from workflows.messages import ORDER_REFUSED, WORKFLOW, RemediationInput, State

LOG_SECONDS = 0.02
"""The interval of polls of a log in this process, which cost nothing."""


class IncidentDriver:
    """Starts, wakes, orders and watches one incident."""

    def __init__(
        self, environment: WorkflowEnvironment, cluster_name: str, uid: str = INCIDENT.target.uid
    ) -> None:
        self.environment = environment
        self.client = environment.client
        self.cluster = FakeCluster(self.now)
        self.name = cluster_name
        self.reference = incident_reference(cluster_name, uid)
        self._calls = IncidentCalls(lambda: self.client, cluster_name)
        self._runs: set[str] = set()
        self._orders = 0

    @property
    def handle(self) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(self.reference.workflow_id)

    async def start(
        self, observation: Observation | None = None, *, under_way: timedelta = timedelta()
    ) -> None:
        """Start it as the detector does for an unhealthy node; `under_way` is the duration of the call."""
        if observation is not None:
            self.cluster.observation = observation
        now = await self.now() if self._runs else datetime.now(UTC)
        observation = self.cluster.answer().model_copy(update={"seen_at": now - under_way})
        answer = without_limits(self.reference, observation, Intent())
        before = len(self.cluster.log)  # a worker may act before the server describes the incident
        await self._calls.start(self.reference, answer)
        description = await self.handle.describe()
        if description.run_id not in self._runs:
            answered_at = description.start_time - under_way
            entry = Entry("answered", answered_at, is_admitted=answer.is_admitted)
            self.cluster.log.insert(before, entry)
        self._runs.add(description.run_id)

    async def sees(self, observation: Observation) -> None:
        """Change the detector's observation, and wake the incident."""
        self.cluster.observation = observation
        await self.wake()

    async def carry_on(self, memory: Memory, observation: Observation) -> None:
        """Start it as a run that continues as new does."""
        self.cluster.observation = observation
        await self.start_bare(RemediationInput(incident=self.reference, memory=memory))

    async def start_bare(self, start: RemediationInput) -> None:
        """Start it with only an input, as a copy made in the Temporal UI: no signal, no memo."""
        await self.client.start_workflow(
            WORKFLOW,
            start,
            id=self.reference.workflow_id,
            task_queue=worker_queue(self.name),
            search_attributes=search_attributes.of_incident(self.reference),
        )
        self._runs.add((await self.handle.describe()).run_id)

    async def start_input(self) -> RemediationInput:
        started = (await self.events())[0].workflow_execution_started_event_attributes
        (start,) = await self.client.data_converter.decode(started.input.payloads, [RemediationInput])
        return RemediationInput.model_validate(start)

    async def events(self) -> list[HistoryEvent]:
        return list((await self.handle.fetch_history()).events)

    async def reset(self, to: int) -> None:
        """Reset it to the workflow task that ends with this event, as the Temporal UI does."""
        self.cluster.note("reset", await self.now())
        await self.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=self.client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=self.reference.workflow_id),
                reason="a test",
                workflow_task_finish_event_id=to,
                request_id=f"reset-{to}",
            )
        )

    async def wake_until_continued(self) -> None:
        """Wake it until its history is so long that it continues as new."""
        before = (await self.handle.describe()).run_id
        async with asyncio.timeout(4 * PATIENCE_SECONDS):  # dozens of rounds
            while (await self.handle.describe()).run_id == before:
                answers = self.cluster.count("observe")
                self.cluster.wakings += 1
                await self.wake()
                await self.happens("observe", answers + 1)

    async def wake(self) -> None:
        await self._calls.wake(self.reference)

    async def abort(self, *order: AbortOrder | dict[str, object]) -> str:
        answer = await self._order("abort", *order)
        if not order or AbortOrder.model_validate(order[0]).for_seconds is None:
            self.cluster.note("abort", await self.now())
        return answer

    async def hold(self, *order: HoldOrder | dict[str, object]) -> str:
        answer = await self._order("hold", *order)
        if not order or HoldOrder.model_validate(order[0]).for_seconds is None:
            self.cluster.note("hold", await self.now())
        return answer

    async def resume(self, *order: object) -> str:
        self.cluster.note("resume", await self.now())
        return await self._order("resume", *order)

    async def approve(self, *order: object) -> str:
        return await self._order("approve", *order)

    async def reject(self, *order: object) -> str:
        return await self._order("reject", *order)

    async def skip(self, *order: object) -> str:
        return await self._order("skip", *order)

    async def refusal(self, name: str, *order: object) -> str:
        """Give an order that must be refused; return why."""
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await self._order(name, *order)
        assert isinstance(refused.value.cause, ApplicationError)
        assert refused.value.cause.type == ORDER_REFUSED
        return refused.value.cause.message

    async def sends(self, order: Coroutine[None, None, str]) -> asyncio.Task[str]:
        """Send an order; return when Temporal has it, even if the incident is too busy to answer."""
        number, giving = self._orders + 1, asyncio.create_task(order)
        await polled(lambda: self._has_order(number))
        return giving

    async def _order(self, name: str, *order: object) -> str:
        self._orders += 1
        answer: str = await self.handle.execute_update(name, *order, id=f"order-{self._orders}")
        return answer

    async def _has_order(self, number: int) -> bool:
        execution = WorkflowExecution(workflow_id=self.reference.workflow_id)
        request = PollWorkflowExecutionUpdateRequest(
            namespace=self.client.namespace,
            update_ref=UpdateRef(workflow_execution=execution, update_id=f"order-{number}"),
        )
        try:
            await self.client.workflow_service.poll_workflow_execution_update(request)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True

    async def now(self) -> datetime:
        """The workflow's own time; real time, unless a test moved it."""
        info = await self.environment.get_time_skipping_info(self.handle)
        return datetime.now(UTC) if info is None else info.current_time.ToDatetime(tzinfo=UTC)

    async def state(self) -> State:
        state: State = await self.handle.query("state", result_type=State)
        return state

    async def details(self) -> str:
        metadata = await self.handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
        details: str = metadata.current_details
        return details

    async def summaries(self) -> list[str]:
        """The summary that the UI shows for each activity and timer."""
        return summaries_of(await self.handle.fetch_history())

    async def queued(self) -> list[str]:
        """The activities that went through task queues of Temporal."""
        return [
            event.activity_task_scheduled_event_attributes.activity_type.name
            for event in (await self.handle.fetch_history()).events
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        ]

    async def reaches(self, phase: Phase) -> State:
        async def in_it() -> State | None:
            state = await self.state()
            return state if state.phase is phase else None

        return await polled(in_it)

    async def tells(self, words: str) -> None:
        async def are_there() -> bool:
            return words in (await self.state()).details

        await polled(are_there)

    async def happens(self, event: str, times: int = 1) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.cluster.count(event) < times:  # noqa: ASYNC110  the log is a list, nothing signals it
                await asyncio.sleep(LOG_SECONDS)

    async def pass_time(self, duration: timedelta) -> None:
        """Let time pass; while an activity waits in a queue, in real time."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.environment.fast_forward(self.handle, duration)

    async def outcome(self) -> Outcome:
        return (await self.result()).outcome

    async def result(self) -> IncidentResult:
        """Wait for its end, and return the result."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await result_of(self.handle)

    async def is_open(self) -> bool:
        return await self.status() is WorkflowExecutionStatus.RUNNING

    async def status(self) -> WorkflowExecutionStatus | None:
        return (await self.handle.describe()).status

    def detector(self) -> Worker:
        """A detector that leads, for this incident only."""
        return workers.detector(self.client, self.name, self.cluster.detector)

    def worker(
        self,
        max_cached_workflows: int = 1000,
        interceptors: Sequence[Interceptor] = (),
        grace: timedelta = timedelta(),
    ) -> Worker:
        return workers.worker(
            self.client,
            self.name,
            self.cluster.worker,
            max_cached_workflows=max_cached_workflows,
            interceptors=interceptors,
            grace=grace,
        )

    async def histories(self) -> list[WorkflowHistory]:
        """The histories of all runs, including those that continued as new."""
        if not self._runs:
            return []
        latest = (await self.handle.describe()).run_id
        return await histories_of(self.client, self.reference.workflow_id, *self._runs, latest)
