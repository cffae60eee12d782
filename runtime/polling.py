"""Polling: how many workers take tasks of a queue, as Temporal remembers them."""

from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

POLLED_WITHIN = timedelta(minutes=2)
"""A poll takes a minute at most, and the server remembers those who polled for five."""
RPC_TIMEOUT = timedelta(seconds=10)


async def workers_polling(client: Client, queue: str) -> int:
    """How many poll for workflows there, or did a moment ago.

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
    since = datetime.now(UTC) - POLLED_WITHIN
    recent = [one for one in answer.pollers if one.last_access_time.ToDatetime(UTC) >= since]
    return len({poller.identity for poller in recent})


async def is_polled(client: Client, queue: str) -> bool:
    """Whether one does.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    return await workers_polling(client, queue) > 0
