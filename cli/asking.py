"""Asking: what open incidents say of themselves and how closed ones ended, many at once, never for ever.

A query needs a worker. Where as many as are asked at once go without an answer, the rest of that cluster is
not asked any more: nobody works there. Temporal forgets its workers when nobody has needed them for half a
minute, says at once that there may be none, and is reminded by the question: so it is asked again.
"""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from cli.incident_sight import IncidentSight
from health.incident_result import IncidentResult
from runtime.insisting import one_sentence
from workflows.messages import State

AT_ONCE = 20
RPC_TIMEOUT = timedelta(seconds=3)
AGAIN_SECONDS = 0.1
NO_WORKER = "no worker answers"
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

    async def all(self, sights: Iterable[IncidentSight]) -> list[IncidentSight]:
        """Each with what it says now; what cannot be known carries the problem."""
        return list(await asyncio.gather(*map(self.one, sights)))

    async def one(self, sight: IncidentSight) -> IncidentSight:
        """It with what it says now."""
        async with self._places:
            return await (self._state(sight) if sight.is_open else self._outcome(sight))

    async def _state(self, sight: IncidentSight) -> IncidentSight:
        cluster = sight.incident.cluster
        if self._is_deserted(cluster):
            return dataclasses.replace(sight, problem=NO_WORKER)
        handle = self._client.get_workflow_handle(sight.incident.workflow_id, run_id=sight.run_id)
        try:
            state = await self._insist(handle, cluster)
        except WorkflowQueryFailedError as error:
            return dataclasses.replace(sight, problem=one_sentence(error))
        except RPCError as error:
            self._unanswered[cluster] += error.status in _NO_ANSWER
            is_busy = error.status in _NO_ANSWER and self._answered[cluster] > 0
            return dataclasses.replace(sight, problem=BUSY if is_busy else _problem(error))
        self._answered[cluster] += 1
        return dataclasses.replace(sight, state=state)

    def _is_deserted(self, cluster: str) -> bool:
        return self._unanswered[cluster] >= AT_ONCE and not self._answered[cluster]

    async def _insist(self, handle: WorkflowHandle[Any, Any], cluster: str) -> State:
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
                if is_late or error.status is not RPCStatusCode.FAILED_PRECONDITION:
                    raise
            else:
                return state
            await asyncio.sleep(AGAIN_SECONDS)

    async def _outcome(self, sight: IncidentSight) -> IncidentSight:
        if sight.status != "Completed":
            return sight
        handle = self._client.get_workflow_handle(
            sight.incident.workflow_id, run_id=sight.run_id, result_type=IncidentResult
        )
        try:
            result = await handle.result(follow_runs=False, rpc_timeout=RPC_TIMEOUT)
        except (WorkflowFailureError, RPCError) as error:
            return dataclasses.replace(sight, problem=one_sentence(error))
        return dataclasses.replace(sight, outcome=result.outcome)


def _problem(error: RPCError) -> str:
    return NO_WORKER if error.status in _NO_ANSWER else one_sentence(error)
