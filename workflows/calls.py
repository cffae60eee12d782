"""Calls of activities, by their contracts: timeouts and retries come from there and from nowhere else.

What changes the cluster is tried once inside the workflow's own task, as a local activity: it costs the
Temporal server half as much as one that goes through its queues (docs/decisions/0011).
"""

import asyncio
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

with workflow.unsafe.imports_passed_through():
    from health.frozen import Frozen
    from health.observation import Hold, Observation
    from health.references import IncidentReference
    from health.telling import cut_to_bytes
    from workflows.contracts import OBSERVE, ONCE, Contract, ObserveInput, eyes_queue

Result = TypeVar("Result")

SUMMARY_BYTES = 350
"""Of the JSON of a summary in the Temporal UI; the server takes 400, with what is written around it."""
LAST_CHANGE = "last_change"
"""The memo that says what an incident ordered last of what changes the cluster."""


def ask(
    incident: IncidentReference, *, found: Hold | None, longest: timedelta | None, summary: str
) -> workflow.ActivityHandle[Observation]:
    """Ask the detector; a question that none took for so long fails with ActivityError."""
    asking = workflow.start_activity(
        OBSERVE.name,
        ObserveInput(incident=incident, found=found),
        result_type=Observation,
        task_queue=eyes_queue(incident.cluster),
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


def queue(
    contract: Contract, argument: Frozen, result: type[Result] | None, *, summary: str
) -> workflow.ActivityHandle[Any]:
    """Start an activity through Temporal's queues; `summary` says in the UI what it is for."""
    return workflow.start_activity(
        contract.name,
        argument,
        result_type=result,
        task_queue=workflow.info().task_queue,
        start_to_close_timeout=contract.start_to_close,
        retry_policy=contract.retry,
        summary=in_summary(summary),
    )


async def once(contract: Contract, argument: Frozen, result: type[Result] | None, *, summary: str) -> Result:
    """One attempt, inside this task.

    Raises FailureError, of several kinds: the SDK says the same thing otherwise in a replay (seen with 1.35).
    """
    # A task ends before its local activity when a query comes or 8 s pass. A replay joins tasks that ended
    # without a command and tells all of them the last one's time: `workflow.now()` changes, the incident
    # decides otherwise than it did, and is stuck for good (seen with 1.35). So there always is a command. A
    # timer will not do: one that is cancelled in the same task is left out, in a replay even if it was sent.
    workflow.upsert_memo({LAST_CHANGE: contract.name})
    answer: Result = await workflow.execute_local_activity(
        contract.name,
        argument,
        result_type=result,
        start_to_close_timeout=contract.start_to_close,
        retry_policy=ONCE,
        summary=in_summary(summary),
    )
    return answer


async def until_done(
    contract: Contract, argument: Frozen, result: type[Result] | None, *, summary: str
) -> Result:
    """`once`, and what fails is left to Temporal, to be tried for as long as it takes."""
    try:
        return await once(contract, argument, result, summary=summary)
    except FailureError as error:
        wait = _told_wait(error)
        if wait:
            # So Temporal waits before all attempts but the first of a queue.
            await workflow.sleep(wait, summary=in_summary(summary))
        answer: Result = await queue(contract, argument, result, summary=summary)
        return answer


def _told_wait(error: FailureError) -> timedelta | None:
    """How long the attempt itself said to wait before the next one; the same in a replay."""
    failure = _failure(error)
    return failure.next_retry_delay if isinstance(failure, ApplicationError) else None


def in_summary(words: str) -> str:
    """`words` as short as a summary must be."""
    return cut_to_bytes(words, SUMMARY_BYTES)


def in_words(error: FailureError) -> str:
    """What broke an attempt off; the same in a replay."""
    return str(_failure(error))


def _failure(error: FailureError) -> BaseException:
    """What the activity raised: a replay wraps it, and the first run does not (seen with 1.35)."""
    return error.cause if isinstance(error, ActivityError) and error.cause else error
