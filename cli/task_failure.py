"""TaskFailure: since when the code of a workflow fails, and with what, read from the end of its history.

An exception in workflow code fails the workflow task. Of the attempts in a row Temporal writes down the
first, and one more after each event that comes meanwhile. So what failed after the last task that was done
fails until now, and until a worker with other code goes on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.errordetails.v1 import WorkflowNotReadyFailure
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client
from temporalio.service import RPCError

from cli.plain_words import plain

LATEST = 100
"""Events that are looked at: a row of failures is short, as its attempts are not written down."""
LONGEST_WORDS = 300
_BY_THE_SERVER = {
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FAILOVER_CLOSE_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_PAUSE_REQUESTED_BEFORE_TASK_STARTED,
}
"""Not by the code: something came in between, say, and the task is tried again at once."""


@dataclass(frozen=True)
class TaskFailure:
    """A workflow task that fails again and again."""

    since: datetime
    what: str
    """The exception, on one line."""

    def __str__(self) -> str:
        return f"its code fails since {self.since:%Y-%m-%d %H:%M:%SZ}: {self.what}"


async def read_task_failure(
    client: Client, workflow_id: str, run_id: str, rpc_timeout: timedelta
) -> TaskFailure | None:
    """How the code of one run fails now; None where it does not.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    asked = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
        maximum_page_size=LATEST,
    )
    answer = await client.workflow_service.get_workflow_execution_history_reverse(asked, timeout=rpc_timeout)
    return task_failure(answer.history.events)


def is_of_a_failing_task(error: RPCError) -> bool:
    """Whether a query or an update was refused because the workflow task has failed several times."""
    details = error.grpc_status.details if error.grpc_status else ()
    return any(detail.Is(WorkflowNotReadyFailure.DESCRIPTOR) for detail in details)


def task_failure(newest_first: Sequence[HistoryEvent]) -> TaskFailure | None:
    """What the latest events of a run say of it."""
    failed = list(_in_a_row(newest_first))
    if not failed:
        return None
    latest, first = failed[0], failed[-1]
    what = _words(latest.workflow_task_failed_event_attributes.failure)
    return TaskFailure(since=first.event_time.ToDatetime(UTC), what=what)


def _in_a_row(newest_first: Sequence[HistoryEvent]) -> Iterator[HistoryEvent]:
    for event in newest_first:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            return
        is_failure = event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        if is_failure and event.workflow_task_failed_event_attributes.cause not in _BY_THE_SERVER:
            yield event


def _words(failure: Failure) -> str:
    """The exception and what caused it."""
    said = [failure]
    while said[-1].HasField("cause"):
        said.append(said[-1].cause)
    words = "; caused by ".join(_exception(one) for one in said)
    return words if len(words) <= LONGEST_WORDS else f"{words[: LONGEST_WORDS - 1]}…"


def _exception(failure: Failure) -> str:
    kind = failure.application_failure_info.type
    message = " ".join(plain(failure.message).split())
    return ": ".join(part for part in (kind, message) if part)
