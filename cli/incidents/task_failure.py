"""Reads why the workflow task of a run keeps failing.

An exception in workflow code fails the workflow task. Temporal records the first of consecutive failed
attempts, and another one after each new event. So a failure after the last completed task still goes on,
until a worker with other code takes over.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.errordetails.v1 import WorkflowNotReadyFailure
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client
from temporalio.service import RPCError

from cli.shared.terminal import plain
from runtime.payload_codec import UnreadablePayload

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
