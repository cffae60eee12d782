"""Asking: what open incidents say of themselves and how closed ones ended, many at once, never for ever.

A query needs a worker. Where as many as are asked at once go without an answer, the rest of that cluster is
not asked any more: nobody works there. Temporal forgets its workers when nobody has needed them for half a
minute, says at once that there may be none, and is reminded by the question: so it is asked again. Code that
fails answers no query either: of what does not answer the history is read, which tells.
"""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from pydantic import ValidationError
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from cli.history import is_of_a_failing_task, read_task_failure
from cli.incident_summary import IncidentSummary
from health.model.incident_result import IncidentResult
from runtime.retrying import one_sentence
from workflows.messages import State

AT_ONCE = 20
RPC_TIMEOUT = timedelta(seconds=3)
AGAIN_SECONDS = 0.1
NO_WORKER = "no worker answers"
OTHER_VERSION = "its worker is of another version, whose answer cannot be read"
BUSY = f"did not answer within {RPC_TIMEOUT.seconds} s"
"""It is in the middle of a change, or its worker has much to do: others answer."""
_NO_ANSWER = {RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.FAILED_PRECONDITION}


class Asking:
    """Asks for one command."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._places = asyncio.Semaphore(AT_ONCE)
        self._unanswered: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()

    async def all(self, summaries: Iterable[IncidentSummary]) -> list[IncidentSummary]:
        """Each with what it says now; what cannot be known carries the problem."""
        return list(await asyncio.gather(*map(self.one, summaries)))

    async def one(self, summary: IncidentSummary) -> IncidentSummary:
        """It with what it says now."""
        async with self._places:
            return await (self._state(summary) if summary.is_open else self._outcome(summary))

    async def _state(self, summary: IncidentSummary) -> IncidentSummary:
        cluster = summary.incident.cluster
        if summary.has_task_failures and (failure := await self._task_failure(summary)):
            return dataclasses.replace(summary, problem=failure)
        if self._is_deserted(cluster):
            return dataclasses.replace(summary, problem=await self._task_failure(summary) or NO_WORKER)
        handle = self._client.get_workflow_handle(summary.incident.workflow_id, run_id=summary.run_id)
        try:
            state = await self._retry(handle, cluster)
        except WorkflowQueryFailedError as error:
            return dataclasses.replace(summary, problem=one_sentence(error))
        except ValidationError:
            return dataclasses.replace(summary, problem=OTHER_VERSION)
        except RPCError as error:
            return dataclasses.replace(summary, problem=await self._why_silent(summary, error))
        self._answered[cluster] += 1
        return dataclasses.replace(summary, state=state)

    async def _why_silent(self, summary: IncidentSummary, error: RPCError) -> str:
        if error.status not in _NO_ANSWER:
            return one_sentence(error)
        if failure := await self._task_failure(summary):
            return failure
        cluster = summary.incident.cluster
        self._unanswered[cluster] += 1
        return BUSY if self._answered[cluster] else NO_WORKER

    async def _task_failure(self, summary: IncidentSummary) -> str:
        """That its code fails; "" where it does not, or its history cannot be read."""
        workflow_id, run_id = summary.incident.workflow_id, summary.run_id
        try:
            failure = await read_task_failure(self._client, workflow_id, run_id, RPC_TIMEOUT)
        except RPCError:
            return ""
        return str(failure) if failure else ""

    def _is_deserted(self, cluster: str) -> bool:
        return self._unanswered[cluster] >= AT_ONCE and not self._answered[cluster]

    async def _retry(self, handle: WorkflowHandle[Any, Any], cluster: str) -> State:
        """Its answer; that Temporal knows of no worker is no answer before the time is up.

        Raises:
            RPCError: there is none.
            WorkflowQueryFailedError: it refuses.

        """
        clock = asyncio.get_running_loop().time
        end = clock() + RPC_TIMEOUT.total_seconds()
        while True:
            left = timedelta(seconds=end - clock())
            try:
                state: State = await handle.query("state", result_type=State, rpc_timeout=left)
            except RPCError as error:
                is_late = clock() + AGAIN_SECONDS >= end or self._is_deserted(cluster)
                is_forgotten = error.status is RPCStatusCode.FAILED_PRECONDITION
                if is_late or not is_forgotten or is_of_a_failing_task(error):
                    raise
            else:
                return state
            await asyncio.sleep(AGAIN_SECONDS)

    async def _outcome(self, summary: IncidentSummary) -> IncidentSummary:
        if summary.status != "Completed":
            return summary
        handle = self._client.get_workflow_handle(
            summary.incident.workflow_id, run_id=summary.run_id, result_type=IncidentResult
        )
        try:
            result = await handle.result(follow_runs=False, rpc_timeout=RPC_TIMEOUT)
        except (WorkflowFailureError, RPCError) as error:
            return dataclasses.replace(summary, problem=one_sentence(error))
        except ValidationError:
            return dataclasses.replace(summary, problem=OTHER_VERSION)
        return dataclasses.replace(summary, outcome=result.outcome, reason=result.reason)
