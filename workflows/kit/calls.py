"""Calls of activities by their contracts, which set timeouts and retries.

Only the question of an incident is called elsewhere: an order may cut it short, and its total time ends with
the renewal of the target's Lease.

Each call is an ordinary activity: the Temporal UI shows input, result and every attempt, and a query never
repeats it (ADR 15).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from objects.brief import Brief
    from objects.frozen import Frozen
    from workflows.kit.summaries import in_summary

Result = TypeVar("Result")


FOR_EVER = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_interval=timedelta(seconds=10))
TWICE = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_attempts=2)
ONCE = RetryPolicy(maximum_attempts=1)


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
        calling = asyncio.ensure_future(
            call(contract, argument, result, summary=summary, task_queue=task_queue)
        )
        try:
            return await asyncio.shield(calling)
        except asyncio.CancelledError:
            self._obey_cancel()
            return await calling


def in_words(error: ActivityError) -> str:
    """The cause of a failed call, in words for people."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type is None and cause.cause:
        return str(cause.cause)  # an error of the SDK, which could not decode the arguments
    return str(cause or error)
