"""Polling: how many workers take tasks of a queue, as Temporal remembers them.

Temporal tells by its own clock when each polled, and not what time it is. So these times are compared with
each other, and never with a clock of ours: one that is ahead would find no worker where there are some.
"""

from collections.abc import Iterable
from datetime import UTC, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

POLLED_WITHIN = timedelta(minutes=2)
"""Of who polled last. A poll takes a minute at most, and the server remembers those who polled for five."""
RPC_TIMEOUT = timedelta(seconds=10)


async def workers_polling(client: Client, queue: str) -> int:
    """How many poll for workflows there, or did a moment ago; the last of them for five minutes more.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        ),
        timeout=RPC_TIMEOUT,
    )
    return len(recent(answer.pollers))


def recent(pollers: Iterable[PollerInfo]) -> set[str]:
    """Who of them polled no earlier than `POLLED_WITHIN` before the last of them did."""
    times = [(one.identity, one.last_access_time.ToDatetime(UTC)) for one in pollers]
    last = max((at for _, at in times), default=None)
    return {identity for identity, at in times if last is not None and last - at <= POLLED_WITHIN}


async def is_polled(client: Client, queue: str) -> bool:
    """Whether one does.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    return await workers_polling(client, queue) > 0
