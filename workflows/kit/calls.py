"""Calls of activities, by their contracts: timeouts and retries come from there.

One call is made elsewhere, the question of an incident: an order may cut it short, and how long it may take
in all is until the Lease of its target is to be renewed.

Each is an ordinary activity, so that the Temporal UI shows what went in, what came out and every attempt, and
a query never repeats one (ADR 15).
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
    from objects.frozen import Frozen
    from workflows.kit.summaries import in_summary

Result = TypeVar("Result")


FOR_EVER = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_interval=timedelta(seconds=10))
TWICE = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_attempts=2)
ONCE = RetryPolicy(maximum_attempts=1)


@dataclass(frozen=True)
class Contract:
    """How one activity is called."""

    name: str
    start_to_close: timedelta
    """Longest time of one attempt; also how long a worker that was killed stays unnoticed."""
    schedule_to_close: timedelta | None
    """Longest time of all attempts together, the wait for a worker included; None: no limit."""
    retry: RetryPolicy

    @property
    def attempt(self) -> timedelta:
        """How long an attempt may take by its own clock: it ends before Temporal gives it up."""
        return self.start_to_close * 0.9


async def call(
    contract: Contract, argument: Frozen, result: type[Result], *, summary: str, task_queue: str | None = None
) -> Result:
    """What an activity answers, of the workflow's own queue or another; `summary` says in the UI what for.

    Raises:
        ActivityError: no worker took it in time, or was done in time.

    """
    answer: Any = await workflow.execute_activity(
        contract.name,
        argument,
        task_queue=task_queue,
        result_type=result,
        start_to_close_timeout=contract.start_to_close,
        schedule_to_close_timeout=contract.schedule_to_close,
        retry_policy=contract.retry,
        summary=in_summary(summary),
    )
    done: Result = answer
    return done


class FinishedCalls:
    """Calls of one workflow whose end is awaited also where it is cancelled meanwhile.

    A call cut short would lose what it made. So each needs a contract that bounds it, or is a
    question without whose answer nothing can be done.
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
        summary: str,
        task_queue: str | None = None,
    ) -> Result:
        """As the function `call`, to its end."""
        calling = asyncio.ensure_future(
            call(contract, argument, result, summary=summary, task_queue=task_queue)
        )
        try:
            return await asyncio.shield(calling)
        except asyncio.CancelledError:
            self._obey_cancel()
            return await calling


def in_words(error: ActivityError) -> str:
    """What broke a call off."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type is None and cause.cause:
        return str(cause.cause)  # the SDK's own: the arguments could not be read, and that is why
    return str(cause or error)
