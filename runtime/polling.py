"""Finds the workers that poll a task queue, and their builds.

Temporal reports the time of each poll by its own clock, but not its present time. So these times are compared
with each other, and never with our clock: with a clock that is ahead we would find no worker.

With Worker Versioning, Temporal gives new workflows to the current version of a queue and to the ramping one.
A worker of another version also polls, and gets only the workflows that are pinned to it.

Each function that asks Temporal raises RPCError if it cannot be asked.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue, TaskQueueVersioningInfo
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, DescribeTaskQueueResponse
from temporalio.client import Client

from workflows.contracts import detector_queue, worker_queue
from workflows.notification import notification_queue

POLLED_WITHIN = timedelta(minutes=2)
"""Relative to the last poll. A poll takes at most a minute, and the server remembers pollers for five."""
RPC_TIMEOUT = timedelta(seconds=10)


@dataclass(frozen=True)
class Build:
    """The build of a worker; without a deployment the worker is unversioned."""

    deployment: str
    id: str

    def __str__(self) -> str:
        return f"{self.deployment}:{self.id}" if self.deployment else f"{self.id or '?'} (unversioned)"


@dataclass(frozen=True)
class QueuePollers:
    """The workers that poll one queue, and the versions that get new workflows."""

    builds: frozenset[tuple[str, Build]]
    """The identity of each worker, and its build."""
    routed: frozenset[Build]
    """The versions that get new workflows; empty if unversioned workers of any build get them."""

    @property
    def serving(self) -> frozenset[str]:
        """The identities of the workers that get new workflows."""
        takes_unversioned = not self.routed or Build("", "") in self.routed
        return frozenset(
            identity
            for identity, build in self.builds
            if (build in self.routed if build.deployment else takes_unversioned)
        )


async def queue_pollers(client: Client, queue: str) -> QueuePollers:
    """The workers that poll for workflows there now; the last one is listed for five more minutes."""
    answer = await _describe(client, queue, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW)
    return QueuePollers(recent(answer.pollers), routed(answer.versioning_info))


async def last_activity_poll(client: Client, queue: str, identity: str) -> datetime | None:
    """The worker's last poll for activities, by Temporal's clock; None if over five minutes ago."""
    answer = await _describe(client, queue, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
    times = (
        poller.last_access_time.ToDatetime(UTC) for poller in answer.pollers if poller.identity == identity
    )
    return max(times, default=None)


QUEUES = {"detector": detector_queue, "worker": worker_queue, "notifications": notification_queue}
"""The task queues of a cluster, by the process that polls them."""


@dataclass(frozen=True)
class Backlog:
    """The tasks of one queue that no worker has taken yet."""

    oldest: timedelta
    """How long the oldest of them has waited; zero without one."""
    is_polled: bool
    """True if a worker polled for such tasks within the last five minutes."""


async def backlog(client: Client, queue: str) -> Backlog:
    """The backlog of workflow tasks, or that of activities, whichever is older; queues of a worker excluded.

    Temporal may refuse polls, so a worker that runs may poll nothing.
    """
    types = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
    answers = await asyncio.gather(*(_describe(client, queue, of_type, stats=True) for of_type in types))
    found = [
        Backlog(answer.stats.approximate_backlog_age.ToTimedelta(), bool(answer.pollers))
        for answer in answers
    ]
    return max(found, key=lambda one: one.oldest)


async def _describe(
    client: Client, queue: str, of_type: TaskQueueType.ValueType, *, stats: bool = False
) -> DescribeTaskQueueResponse:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=of_type,
        report_stats=stats,
    )
    return await client.workflow_service.describe_task_queue(request, timeout=RPC_TIMEOUT)


def recent(pollers: Iterable[PollerInfo]) -> frozenset[tuple[str, Build]]:
    """The pollers whose last poll is at most `POLLED_WITHIN` older than the last of all."""
    times = [(poller, poller.last_access_time.ToDatetime(UTC)) for poller in pollers]
    last = max((at for _, at in times), default=None)
    found = set()
    for poller, at in times:
        if last is not None and last - at <= POLLED_WITHIN:
            options = poller.deployment_options
            versioned = WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
            is_versioned = options.worker_versioning_mode == versioned
            deployment = options.deployment_name if is_versioned else ""
            found.add((poller.identity, Build(deployment, options.build_id)))
    return frozenset(found)


def routed(info: TaskQueueVersioningInfo) -> frozenset[Build]:
    """The versions that get new workflows of a queue; empty without versions."""
    current, ramping = (
        Build(version.deployment_name, version.build_id)
        for version in (info.current_deployment_version, info.ramping_deployment_version)
    )
    if info.ramping_version_percentage:
        return frozenset({current, ramping})
    return frozenset({current} if current.deployment else ())


async def workers_polling(client: Client, queue: str) -> int:
    """The number of workers that get new workflows."""
    return len((await queue_pollers(client, queue)).serving)
