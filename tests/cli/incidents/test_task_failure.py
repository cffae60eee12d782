"""The last events of a workflow whose code fails."""

from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.failure.v1 import ApplicationFailureInfo, Failure
from temporalio.api.history.v1 import HistoryEvent, WorkflowTaskFailedEventAttributes

from cli.incidents.state_queries import LONGEST_WORDS, task_failure

BEGIN = datetime(2026, 11, 22, 10, tzinfo=UTC)
CAUSE = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE
COMPLETED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
SIGNALED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
FAILED = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED


def error(message: str, kind: str = "RuntimeError", cause: Failure | None = None) -> Failure:
    return Failure(message=message, application_failure_info=ApplicationFailureInfo(type=kind), cause=cause)


def event(
    minute: int,
    kind: EventType.ValueType,
    failure: Failure | None = None,
    cause: WorkflowTaskFailedCause.ValueType = CAUSE,
) -> HistoryEvent:
    found = HistoryEvent(event_type=kind)
    found.event_time.FromDatetime(BEGIN + timedelta(minutes=minute))
    if failure is not None:
        found.workflow_task_failed_event_attributes.CopyFrom(
            WorkflowTaskFailedEventAttributes(cause=cause, failure=failure)
        )
    return found


def test_row_of_failures_began_with_the_first_after_a_success_and_says_what_the_latest_said() -> None:
    events = [
        event(0, FAILED, error("long over")),
        event(1, COMPLETED),
        event(2, FAILED, error("first")),
        event(3, SIGNALED),
        event(4, FAILED, error("of\nnow\x1b[2J")),
    ]
    failure = task_failure(events[::-1])
    assert failure == "its code fails since 2026-11-22 10:02:00Z: RuntimeError: of now [2J"


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([], id="nothing"),
        pytest.param([event(0, COMPLETED), event(1, SIGNALED)], id="not begun"),
        pytest.param([event(0, FAILED, error("x")), event(1, COMPLETED)], id="over"),
    ],
)
def test_code_that_did_not_fail_since_it_worked_does_not_fail(events: list[HistoryEvent]) -> None:
    assert task_failure(events[::-1]) is None


@pytest.mark.parametrize("cause", ["UNHANDLED_COMMAND", "RESET_WORKFLOW"])
def test_failure_by_the_server_is_no_failure_of_the_code(cause: str) -> None:
    by_server = WorkflowTaskFailedCause.Value(f"WORKFLOW_TASK_FAILED_CAUSE_{cause}")
    assert task_failure([event(0, FAILED, error(""), by_server)]) is None


def test_causes_are_reported_and_long_words_are_cut() -> None:
    failure = task_failure([event(0, FAILED, error("cannot decode", cause=error("x" * 999, "ValueError")))])
    assert failure is not None
    words = failure.partition("Z: ")[2]
    assert words.startswith("RuntimeError: cannot decode; caused by ValueError: xxx")
    assert len(words) == LONGEST_WORDS


def test_error_without_a_type_is_reported_by_its_words() -> None:
    failure = task_failure([event(0, FAILED, error("[TMPRL1100] Nondeterminism error", kind=""))])
    assert failure is not None
    assert failure.endswith("Z: [TMPRL1100] Nondeterminism error")
