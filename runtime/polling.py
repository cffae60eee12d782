"""Polling: which workers take tasks of a queue, of which build, as Temporal remembers them.

Temporal tells by its own clock when each polled, and not what time it is. So these times are compared with
each other, and never with a clock of ours: one that is ahead would find no worker where there are some.

With Worker Versioning, Temporal gives new workflows to the current version of a queue and to the one that
ramps up. A worker of another version polls, and gets only what is pinned to it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import TaskQueueType, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue, TaskQueueVersioningInfo
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, DescribeTaskQueueResponse
from temporalio.client import Client

POLLED_WITHIN = timedelta(minutes=2)
"""Of who polled last. A poll takes a minute at most, and the server remembers those who polled for five."""
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
    """The workers that poll one queue, and those of them that get new workflows."""

    builds: frozenset[tuple[str, Build]]
    """The identity of each worker, and what it runs."""
    routed: frozenset[Build]
    """The versions that new workflows go to; empty: to unversioned workers, whatever their build."""

    @property
    def serving(self) -> frozenset[str]:
        """The identities of the workers that take new workflows."""
        return frozenset(identity for identity, build in self.builds if self._takes(build))

    def _takes(self, build: Build) -> bool:
        if not build.deployment:
            return not self.routed or Build("", "") in self.routed
        return build in self.routed


async def queue_pollers(client: Client, queue: str) -> QueuePollers:
    """The workers that poll for workflows there, or did a moment ago; the last of them for five minutes more.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    answer = await _describe(client, queue, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW)
    return QueuePollers(recent(answer.pollers), routed(answer.versioning_info))


async def last_activity_poll(client: Client, queue: str, identity: str) -> datetime | None:
    """When that worker polled for activities there last, by Temporal's clock; None: not within five minutes.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    answer = await _describe(client, queue, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
    times = (one.last_access_time.ToDatetime(UTC) for one in answer.pollers if one.identity == identity)
    return max(times, default=None)


async def _describe(
    client: Client, queue: str, of_type: TaskQueueType.ValueType
) -> DescribeTaskQueueResponse:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=of_type
    )
    return await client.workflow_service.describe_task_queue(request, timeout=RPC_TIMEOUT)


def recent(pollers: Iterable[PollerInfo]) -> frozenset[tuple[str, Build]]:
    """Those of them who polled no earlier than `POLLED_WITHIN` before the last of them did."""
    times = [(one, one.last_access_time.ToDatetime(UTC)) for one in pollers]
    last = max((at for _, at in times), default=None)
    return frozenset(
        (one.identity, _build(one)) for one, at in times if last is not None and last - at <= POLLED_WITHIN
    )


def routed(info: TaskQueueVersioningInfo) -> frozenset[Build]:
    """The versions that new workflows of a queue go to; empty where it has none."""
    current = _version(info.current_deployment_version)
    if not info.ramping_version_percentage:
        return frozenset({current} if current.deployment else ())
    return frozenset({current, _version(info.ramping_deployment_version)})


def _version(version: WorkerDeploymentVersion) -> Build:
    return Build(version.deployment_name, version.build_id)


def _build(poller: PollerInfo) -> Build:
    options = poller.deployment_options
    versioned = WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
    is_versioned = options.worker_versioning_mode == versioned
    return Build(options.deployment_name if is_versioned else "", options.build_id)


async def workers_polling(client: Client, queue: str) -> int:
    """How many workers poll that take new workflows.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    return len((await queue_pollers(client, queue)).serving)


async def is_polled(client: Client, queue: str) -> bool:
    """Whether one does.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    return await workers_polling(client, queue) > 0
