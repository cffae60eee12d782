"""Querying: the query `state` of one workflow, asked until a worker answers or the time is up.

Temporal forgets its workers when nobody has needed them for half a minute, says at once that there may be
none, and is reminded by the question: so it is asked again.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from cli.history import is_of_a_failing_task

RPC_TIMEOUT = timedelta(seconds=3)
AGAIN_SECONDS = 0.1
NO_ANSWER = {RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.FAILED_PRECONDITION}
"""How an RPC ends that no worker answered."""

State = TypeVar("State")


def _never() -> bool:
    return False


async def query_state(
    handle: WorkflowHandle[Any, Any], kind: type[State], is_hopeless: Callable[[], bool] = _never
) -> State:
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
            state: State = await handle.query("state", result_type=kind, rpc_timeout=left)
        except RPCError as error:
            is_late = clock() + AGAIN_SECONDS >= end or is_hopeless()
            is_forgotten = error.status is RPCStatusCode.FAILED_PRECONDITION
            if is_late or not is_forgotten or is_of_a_failing_task(error):
                raise
        else:
            return state
        await asyncio.sleep(AGAIN_SECONDS)
