"""Queries workflows: one for its state, many incidents at once for their states or results, with time limits.

Temporal forgets idle workers after half a minute. It then fails a query at once, but also wakes the worker,
so the query is repeated.

A query needs a worker. After `AT_ONCE` queries of one cluster without an answer, the remaining incidents of
that cluster are not queried: no worker polls there. Workflow code that fails answers no query either, so the
history of an incident that does not answer is read for task failures. An exception in workflow code fails the
workflow task. Temporal records the first of consecutive failed attempts, and another one after each new
event. So a failure after the last completed task still goes on, until a worker with other code takes over.
"""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, timedelta
from typing import Any, TypeVar

from pydantic import ValidationError
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.errordetails.v1 import WorkflowNotReadyFailure
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.visibility import IncidentSummary
from cli.shared.terminal import error_sentence, plain
from health.model.incident_result import IncidentResult
from runtime.payload_codec import UnreadablePayload
from workflows.messages import State

LATEST_EVENTS = 100
"""The newest events that are searched: consecutive failures take few, as most attempts are not recorded."""
LONGEST_WORDS = 300
"""The longest error of a failed task that is shown, in characters."""
_BY_THE_SERVER = {
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FAILOVER_CLOSE_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_PAUSE_REQUESTED_BEFORE_TASK_STARTED,
}
"""Failures that the workflow code did not cause; the server tries the task again at once."""


async def read_task_failure(
    client: Client, workflow_id: str, run_id: str, rpc_timeout: timedelta
) -> str | None:
    """Since when the task of one run fails, and its latest error on one line; None if it does not fail.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
        maximum_page_size=LATEST_EVENTS,
    )
    answer = await client.workflow_service.get_workflow_execution_history_reverse(
        request, timeout=rpc_timeout
    )
    if latest := next(_in_a_row(answer.history.events), None):
        failure = latest.workflow_task_failed_event_attributes.failure
        try:
            await client.data_converter.decode_failure(failure)  # decrypts it and its causes in place
        except UnreadablePayload as error:
            failure.message = str(error)
    return task_failure(answer.history.events)


def is_of_a_failing_task(error: RPCError) -> bool:
    """True if Temporal refused a query or update because the workflow task keeps failing."""
    details = error.grpc_status.details if error.grpc_status else ()
    return any(detail.Is(WorkflowNotReadyFailure.DESCRIPTOR) for detail in details)


def task_failure(newest_first: Sequence[HistoryEvent]) -> str | None:
    """The task failure that the newest events of a run show."""
    failed = list(_in_a_row(newest_first))
    if not failed:
        return None
    since = failed[-1].event_time.ToDatetime(UTC)
    error = _words(failed[0].workflow_task_failed_event_attributes.failure)
    return f"its code fails since {since:%Y-%m-%d %H:%M:%SZ}: {error}"


def _in_a_row(newest_first: Sequence[HistoryEvent]) -> Iterator[HistoryEvent]:
    for event in newest_first:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            return
        is_failure = event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        if is_failure and event.workflow_task_failed_event_attributes.cause not in _BY_THE_SERVER:
            yield event


def _words(failure: Failure) -> str:
    chain = [failure]
    while chain[-1].HasField("cause"):
        chain.append(chain[-1].cause)
    exceptions = (
        ": ".join(filter(None, (one.application_failure_info.type, " ".join(plain(one.message).split()))))
        for one in chain
    )
    words = "; caused by ".join(exceptions)
    return words if len(words) <= LONGEST_WORDS else f"{words[: LONGEST_WORDS - 1]}…"


QUERY_TIMEOUT = timedelta(seconds=3)
AGAIN_SECONDS = 0.1
NO_ANSWER = {RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.FAILED_PRECONDITION}
"""Status codes of a query that no worker answered."""
AT_ONCE = 20
NO_WORKER = "no worker answers"
OTHER_VERSION = "its worker runs another version, whose answer cannot be read"
BUSY = f"did not answer within {QUERY_TIMEOUT.seconds} s"
"""Other incidents of its cluster answer: this one is in the middle of a change, or its worker is
overloaded."""
LATE = "too many incidents answer slowly, and the time for their answers was over"

UNREAD = (WorkflowFailureError, WorkflowQueryFailedError, RPCError, UnreadablePayload, ValidationError)
"""The errors of a workflow whose state or result cannot be read."""
_ENDED_BY_ITSELF = ("Completed", "Failed")
"""A workflow fails if its workflow id is not the id of its incident."""

Answer = TypeVar("Answer")


async def query_state(
    handle: WorkflowHandle[Any, Any],
    kind: type[Answer],
    is_hopeless: Callable[[], bool] = lambda: False,
) -> Answer:
    """The workflow's answer to `state`.

    FAILED_PRECONDITION (no known worker) is retried until the time is over.

    Raises:
        RPCError: no worker answered.
        WorkflowQueryFailedError: the workflow refuses.

    """
    clock = asyncio.get_running_loop().time
    end = clock() + QUERY_TIMEOUT.total_seconds()
    while True:
        left = timedelta(seconds=end - clock())
        try:
            answer: Answer = await handle.query("state", result_type=kind, rpc_timeout=left)
        except RPCError as error:
            is_late = clock() + AGAIN_SECONDS >= end or is_hopeless()
            is_forgotten = error.status is RPCStatusCode.FAILED_PRECONDITION
            if is_late or not is_forgotten or is_of_a_failing_task(error):
                raise
        else:
            return answer
        await asyncio.sleep(AGAIN_SECONDS)


def why_unread(error: Exception) -> str:
    """The reason in words of one of the errors in UNREAD."""
    if isinstance(error, ValidationError):
        return OTHER_VERSION
    return error_sentence(error.cause if isinstance(error, WorkflowFailureError) else error)


async def task_failure_words(client: Client, workflow_id: str, run_id: str) -> str | None:
    """The failure of a workflow task; None if there is none, or the history cannot be read."""
    try:
        return await read_task_failure(client, workflow_id, run_id, QUERY_TIMEOUT)
    except RPCError:
        return None


class StateQueries:
    """Sends the queries of one command and counts answers by cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._places = asyncio.Semaphore(AT_ONCE)
        self._unanswered: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()

    async def all(
        self, summaries: Iterable[IncidentSummary], *, within: timedelta | None = None
    ) -> list[IncidentSummary]:
        """The summaries with current state; where it is unknown, `problem` says why."""
        end = None if within is None else asyncio.get_running_loop().time() + within.total_seconds()

        async def one_until_the_end(summary: IncidentSummary) -> IncidentSummary:
            try:
                async with asyncio.timeout_at(end):
                    return await self.one(summary)
            except TimeoutError:
                return dataclasses.replace(summary, problem=LATE)

        return list(await asyncio.gather(*map(one_until_the_end, summaries)))

    async def one(self, summary: IncidentSummary) -> IncidentSummary:
        if summary.unreadable:
            return dataclasses.replace(summary, problem=summary.unreadable)
        async with self._places:
            try:
                return await (self._with_state(summary) if summary.is_open else self._with_end(summary))
            except UNREAD as error:
                return dataclasses.replace(summary, problem=why_unread(error))

    async def _with_state(self, summary: IncidentSummary) -> IncidentSummary:
        cluster = summary.incident.cluster
        if summary.has_task_failures and (failure := await self._task_failure(summary)):
            return dataclasses.replace(summary, problem=failure)
        if self._has_no_worker(cluster):
            return dataclasses.replace(summary, problem=await self._task_failure(summary) or NO_WORKER)
        try:
            state = await self._state(summary)
        except RPCError as error:
            if error.status not in NO_ANSWER:
                raise
            if failure := await self._task_failure(summary):
                return dataclasses.replace(summary, problem=failure)
            self._unanswered[cluster] += 1
            return dataclasses.replace(summary, problem=BUSY if self._answered[cluster] else NO_WORKER)
        self._answered[cluster] += 1
        return dataclasses.replace(summary, state=state)

    async def _with_end(self, summary: IncidentSummary) -> IncidentSummary:
        """The summary with its result; if it was terminated, with its last state, if a worker replays it."""
        if summary.status not in _ENDED_BY_ITSELF:
            try:
                return dataclasses.replace(summary, state=await self._state(summary))
            except (WorkflowQueryFailedError, ValidationError, RPCError) as error:
                problem = f"its last state is unknown: {error_sentence(error)}"
                return dataclasses.replace(summary, problem=problem)
        handle = self._client.get_workflow_handle(
            summary.incident.workflow_id, run_id=summary.run_id, result_type=IncidentResult
        )
        result = await handle.result(follow_runs=False, rpc_timeout=QUERY_TIMEOUT)
        return dataclasses.replace(summary, result=result)

    async def _state(self, summary: IncidentSummary) -> State:
        handle = self._client.get_workflow_handle(summary.incident.workflow_id, run_id=summary.run_id)
        return await query_state(handle, State, lambda: self._has_no_worker(summary.incident.cluster))

    async def _task_failure(self, summary: IncidentSummary) -> str | None:
        return await task_failure_words(self._client, summary.incident.workflow_id, summary.run_id)

    def _has_no_worker(self, cluster: str) -> bool:
        return self._unanswered[cluster] >= AT_ONCE and not self._answered[cluster]
