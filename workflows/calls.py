"""Calls of activities, by their contracts: timeouts and retries come from there and from nowhere else.

Each is an ordinary activity, so that the Temporal UI shows what went in, what came out and every attempt, and
a query never repeats one (ADR 15).
"""

import asyncio
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from health.model.observation import Observation
    from health.runbook.wording import cut_to_bytes
    from objects.frozen import Frozen
    from workflows.contracts import OBSERVE, Contract, ObserveInput, detector_queue

Result = TypeVar("Result")

SUMMARY_BYTES = 350
"""Of the JSON of a summary in the Temporal UI; the server takes 400, with what is written around it."""


def ask(
    asked: ObserveInput, *, longest: timedelta | None, summary: str
) -> workflow.ActivityHandle[Observation]:
    """Ask the detector; a question that none took for so long fails with ActivityError."""
    asking = workflow.start_activity(
        OBSERVE.name,
        asked,
        result_type=Observation,
        task_queue=detector_queue(asked.incident.cluster),
        schedule_to_start_timeout=longest,
        start_to_close_timeout=OBSERVE.start_to_close,
        retry_policy=OBSERVE.retry,
        summary=in_summary(summary),
    )
    asking.add_done_callback(_take_note)
    return asking


def _take_note(asking: asyncio.Task[Observation]) -> None:
    """Whoever gave up waiting has no more use for the failure."""
    if not asking.cancelled():
        asking.exception()


async def call(contract: Contract, argument: Frozen, result: type[Result], *, summary: str) -> Result:
    """What an activity of a worker answers; `summary` says in the UI what it is for.

    Raises:
        ActivityError: no worker took it in time, or was done in time.

    """
    answer: Any = await workflow.execute_activity(
        contract.name,
        argument,
        result_type=result,
        start_to_close_timeout=contract.start_to_close,
        schedule_to_close_timeout=contract.schedule_to_close,
        retry_policy=contract.retry,
        summary=in_summary(summary),
    )
    done: Result = answer
    return done


def in_summary(words: str) -> str:
    """`words` as short as a summary must be."""
    return cut_to_bytes(words, SUMMARY_BYTES)


def in_words(error: ActivityError) -> str:
    """What broke a call off."""
    return str(error.cause or error)
