"""Detectors and workers of tests, with scripted activities."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Interceptor, UnsandboxedWorkflowRunner, Worker

from tests.support.story.sandbox import workflow_runner
from workflows.contracts import detector_queue, worker_queue
from workflows.notification import NotificationDelivery
from workflows.remediation import Remediation

Activities = Sequence[Callable[..., Any]]


def detector(client: Client, cluster_name: str, activities: Activities) -> Worker:
    return Worker(client, task_queue=detector_queue(cluster_name), activities=activities)


def worker(  # noqa: PLR0913  as many as a worker has
    client: Client,
    cluster_name: str,
    activities: Activities,
    *,
    workflows: Sequence[type[Any]] = (Remediation, NotificationDelivery),
    max_cached_workflows: int = 1000,
    interceptors: Sequence[Interceptor] = (),
    grace: timedelta = timedelta(),
) -> Worker:
    """A worker; without a cache, each task starts from the beginning, and would start a new sandbox."""
    return Worker(
        client,
        task_queue=worker_queue(cluster_name),
        workflows=workflows,
        activities=activities,
        interceptors=interceptors,
        workflow_runner=workflow_runner() if max_cached_workflows else UnsandboxedWorkflowRunner(),
        max_cached_workflows=max_cached_workflows,
        graceful_shutdown_timeout=grace,
    )
