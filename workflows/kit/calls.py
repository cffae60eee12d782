"""Calls of activities by their contracts, which set timeouts and retries, and starts of other workflows.

Only the question of an incident is called elsewhere: an order may cut it short, and its total time ends with
the renewal of the target's Lease.

Each call is an ordinary activity: the Temporal UI shows input, result and every attempt, and a query never
repeats it (ADR 15).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from objects.frozen import Frozen
    from objects.short_text import Brief, cut_to_bytes

Result = TypeVar("Result")


FOR_EVER = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_interval=timedelta(seconds=10))
TWICE = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_attempts=2)
ONCE = RetryPolicy(maximum_attempts=1)
SUMMARY_BYTES = 350
"""The size of the JSON of a summary; the server allows 400 including its envelope."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The name, timeouts and retries of one activity."""

    name: str
    start_to_close: timedelta
    """The longest time of one attempt; without heartbeats also how long a killed worker stays unnoticed."""
    schedule_to_close: timedelta | None
    """The longest time of all attempts, including the wait for a worker; None: no limit."""
    retry: RetryPolicy
    heartbeat: timedelta | None = None
    """The longest time between two heartbeats; a killed worker is noticed then. None: there are none."""

    @property
    def attempt(self) -> timedelta:
        """The time of an attempt by its own clock; it ends before Temporal times it out."""
        return self.start_to_close * 0.9


def in_summary(words: str | Brief) -> str:
    """One line within the limits of the UI (`LONGEST_LINE` characters) and of the server."""
    brief = words if isinstance(words, Brief) else Brief(words)
    return cut_to_bytes(brief.within(), SUMMARY_BYTES)


async def call(
    contract: Contract,
    argument: Frozen,
    result: type[Result],
    *,
    summary: str | Brief,
    task_queue: str | None = None,
) -> Result:
    """The answer of an activity, on the workflow's queue or another; `summary` explains the call in the UI.

    Raises:
        ActivityError: no worker accepted or completed it in time.

    """
    answer: Any = await workflow.execute_activity(
        contract.name,
        argument,
        task_queue=task_queue,
        result_type=result,
        start_to_close_timeout=contract.start_to_close,
        schedule_to_close_timeout=contract.schedule_to_close,
        heartbeat_timeout=contract.heartbeat,
        retry_policy=contract.retry,
        summary=in_summary(summary),
    )
    done: Result = answer
    return done


async def _finished(call: Awaitable[Result], obey_cancel: Callable[[], None]) -> Result:
    """Await the call to its end; a cancel meanwhile is obeyed, and does not cut the call short."""
    calling = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(calling)
    except asyncio.CancelledError:
        obey_cancel()
        return await calling


class FinishedCalls:
    """Calls of one workflow that are awaited to their end even if the workflow is cancelled.

    A call cut short would lose its effects. So each call needs a contract with a limit, or is a question
    without whose answer the workflow cannot go on.
    """

    def __init__(self, obey_cancel: Callable[[], None]) -> None:
        """`obey_cancel` is called when a cancel comes during a call; the main loop obeys all others."""
        self._obey_cancel = obey_cancel

    async def call(
        self,
        contract: Contract,
        argument: Frozen,
        result: type[Result],
        *,
        summary: str | Brief,
        task_queue: str | None = None,
    ) -> Result:
        """Like the function `call`, but awaited to its end."""
        calling = call(contract, argument, result, summary=summary, task_queue=task_queue)
        return await _finished(calling, self._obey_cancel)


def in_words(error: ActivityError) -> str:
    """The cause of a failed call, in words for people."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type is None and cause.cause:
        return str(cause.cause)  # an error of the SDK, which could not decode the arguments
    return str(cause or error)


@dataclass(frozen=True, kw_only=True)
class Companion:
    """A workflow that this one starts and does not wait for, so nothing that it does delays this one."""

    workflow: str
    argument: Frozen
    workflow_id: str
    """Starts nothing if a workflow of this id exists, open or closed."""
    summary: str | Brief
    search_attributes: TypedSearchAttributes

    async def start(self, obey_cancel: Callable[[], None]) -> None:
        """Return when it has started, also after a cancel: Temporal would not start it after our end."""
        await _finished(self._start(), obey_cancel)

    async def _start(self) -> None:
        with contextlib.suppress(WorkflowAlreadyStartedError):
            await workflow.start_child_workflow(
                self.workflow,
                self.argument,
                id=self.workflow_id,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=self.search_attributes,
                static_summary=in_summary(self.summary),
            )
