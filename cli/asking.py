"""Asking: what open incidents say of themselves and how closed ones ended, many at once, never for ever.

A query needs a worker. Where as many as are asked at once go without an answer, the rest of that cluster is
not asked any more: nobody works there.
"""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

from temporalio.client import Client, WorkflowFailureError, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from cli.incident_sight import IncidentSight
from health.moves import Outcome
from runtime.insisting import one_sentence
from workflows.messages import State

AT_ONCE = 20
RPC_TIMEOUT = timedelta(seconds=3)
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
        if self._unanswered[cluster] >= AT_ONCE and not self._answered[cluster]:
            return dataclasses.replace(sight, problem=NO_WORKER)
        handle = self._client.get_workflow_handle(sight.incident.workflow_id, run_id=sight.run_id)
        try:
            state = await handle.query("state", result_type=State, rpc_timeout=RPC_TIMEOUT)
        except WorkflowQueryFailedError as error:
            return dataclasses.replace(sight, problem=one_sentence(error))
        except RPCError as error:
            self._unanswered[cluster] += error.status in _NO_ANSWER
            is_busy = error.status in _NO_ANSWER and self._answered[cluster] > 0
            return dataclasses.replace(sight, problem=BUSY if is_busy else _problem(error))
        self._answered[cluster] += 1
        return dataclasses.replace(sight, state=state)

    async def _outcome(self, sight: IncidentSight) -> IncidentSight:
        if sight.status != "Completed":
            return sight
        handle = self._client.get_workflow_handle(
            sight.incident.workflow_id, run_id=sight.run_id, result_type=Outcome
        )
        try:
            outcome = await handle.result(follow_runs=False, rpc_timeout=RPC_TIMEOUT)
        except (WorkflowFailureError, RPCError) as error:
            return dataclasses.replace(sight, problem=one_sentence(error))
        return dataclasses.replace(sight, outcome=outcome)


def _problem(error: RPCError) -> str:
    return NO_WORKER if error.status in _NO_ANSWER else one_sentence(error)
