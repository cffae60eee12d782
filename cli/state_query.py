"""Sends the query `state` to one workflow until a worker answers or the time is over.

Temporal forgets idle workers after half a minute. It then fails a query at once, but also wakes the worker,
so the query is repeated.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from cli.story import is_of_a_failing_task

RPC_TIMEOUT = timedelta(seconds=3)
AGAIN_SECONDS = 0.1
NO_ANSWER = {RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.FAILED_PRECONDITION}
"""Status codes of a query that no worker answered."""

State = TypeVar("State")


def _never() -> bool:
    return False


async def query_state(
    handle: WorkflowHandle[Any, Any],
    kind: type[State],
    is_hopeless: Callable[[], bool] = _never,
    *,
    arguments: Sequence[object] = (),
) -> State:
    """The workflow's answer to `state`.

    FAILED_PRECONDITION (no known worker) is retried until the time is over.

    Raises:
        RPCError: no worker answered.
        WorkflowQueryFailedError: the workflow refuses.

    """
    clock = asyncio.get_running_loop().time
    end = clock() + RPC_TIMEOUT.total_seconds()
    while True:
        left = timedelta(seconds=end - clock())
        try:
            state: State = await handle.query("state", args=arguments, result_type=kind, rpc_timeout=left)
        except RPCError as error:
            is_late = clock() + AGAIN_SECONDS >= end or is_hopeless()
            is_forgotten = error.status is RPCStatusCode.FAILED_PRECONDITION
            if is_late or not is_forgotten or is_of_a_failing_task(error):
                raise
        else:
            return state
        await asyncio.sleep(AGAIN_SECONDS)
