"""Worker: connects workflows and activities of one cluster. It alone reads the clocks that activities use."""

import asyncio
import importlib.metadata
import os
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from temporalio.client import Client as TemporalClient
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import (
    PollerBehaviorSimpleMaximum,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerDeploymentConfig,
)

from activities.act import Act
from activities.attempt import Clock
from activities.event_recorder import EventRecorder
from activities.live_objects import LiveObjects
from activities.maintenance import Maintenance
from activities.notifications import WITHIN, Notify, Receivers
from activities.registry import KIND_ACTIVITIES
from activities.requests import OwnRequests
from activities.revalidation import Revalidation
from activities.save_evidence import EvidenceConfigMaps, SaveEvidenceActivity
from activities.sync_pauses import EVENT_TIMEOUT, SyncPauses
from activities.target_lease import TargetLeases
from health.evidence import Retention
from health.kinds.check_kind import CheckKind
from kube.client import SharedReads
from kube.connection import ClusterConnections
from kube.consistent_read import current_version
from kube.discovery import Discovery
from kube.errors import KubernetesError
from kube.server_clock import monotonic_clock, wall_clock
from runtime.connections import Connections, connected
from runtime.problems import retry_forever
from runtime.process_names import LEADER_LEASE, WORKER
from runtime.settings import Settings, SettingsError
from runtime.status_writer import LeaderWatch, StatusWriter, look_forever
from worker.metrics_interceptor import MetricsInterceptor
from worker.worker_metrics import WorkerMetrics
from workflows.contracts import ACT, worker_queue
from workflows.notification import NotificationDelivery, notification_queue
from workflows.remediation import Remediation
from workflows.upgrade_pause import UpgradePause

WORKFLOWS = (Remediation, UpgradePause, NotificationDelivery)
GRACE = ACT.start_to_close + timedelta(seconds=2)
"""The time for activities to finish when the worker is stopped: an act is never interrupted."""
CACHED_INCIDENTS = 5_000
"""Limited by memory, about 50 KB each: an incident that is not cached is replayed for each task and query."""
STICKY = timedelta(seconds=5)
"""The tasks of a killed worker wait this long for it. A worker that is busy for longer loses its workflows
to a replay, which makes it busier: with 1 s, a storm of 100 took three times as long."""
POLLERS = 4
"""The pollers for each kind of task. The autoscaling of the SDK lost tasks in storms on a busy machine,
and Temporal noticed that only after ten seconds (seen with 1.35, in three of nine storms)."""
MOST_NOTIFICATIONS = 1000
"""Each waits for its turn in a few kilobytes; those beyond wait in Temporal, and are in a later summary."""
NOTIFICATION_POLLERS = 1
LOOK_AT_KUBERNETES_SECONDS = 10.0
DEPLOYMENT_VARIABLE = "TEMPORAL_DEPLOYMENT_NAME"
BUILD_VARIABLE = "TEMPORAL_WORKER_BUILD_ID"
UNVERSIONED = "paramedic"
"""The deployment name that Temporal requires with a build that is only reported."""
LONGEST_NAME = 200
_NAME = re.compile(rf"(?!__)[^\s.:]{{1,{LONGEST_NAME}}}")
_BUILD = re.compile(rf"[^\s:]{{1,{LONGEST_NAME}}}")


async def run(settings: Settings) -> None:
    version = worker_version(os.environ)
    async with connected(settings, WORKER) as connections, asyncio.TaskGroup() as tasks:
        tasks.create_task(connections.temporal.hold())
        tasks.create_task(_watch_kubernetes(connections, settings.check_kinds))
        tasks.create_task(_watch_leader(settings, connections))
        counting = MetricsInterceptor(WorkerMetrics(connections.metrics))
        notifying = partial(_notification_worker, settings, connections, counting)
        tasks.create_task(connections.temporal.work(notifying, "worker of notifications"))
        await connections.temporal.work(partial(_worker, settings, connections, version, counting))


def worker_version(environment: Mapping[str, str]) -> WorkerDeploymentConfig:
    """The Worker Versioning of a worker, by two variables of its environment.

    The names are those that the Temporal Worker Controller sets. Without a deployment name the worker is
    unversioned, but still reports its build, so that `paramedic doctor` sees two builds on one queue.

    Workflows are pinned: an incident ends on the build that began it, so neither a roll-out nor a roll-back
    gives a history to code that did not write it (ADR 46). The behaviour is the worker's default and not that
    of the workflow's definition: a definition with one makes each task of an unversioned worker time out.

    Raises:
        SettingsError: a name is invalid, or a deployment has no build id.

    """
    deployment, build = environment.get(DEPLOYMENT_VARIABLE, ""), environment.get(BUILD_VARIABLE, "")
    if deployment and not build:
        raise SettingsError(f"{BUILD_VARIABLE}: must be set beside {DEPLOYMENT_VARIABLE}")
    if deployment and not _NAME.fullmatch(deployment):
        raise _refused(DEPLOYMENT_VARIABLE, deployment, "must not begin with __, nor contain . : or blanks")
    if build and not _BUILD.fullmatch(build):
        raise _refused(BUILD_VARIABLE, build, "must not contain : or blanks")
    if not deployment:
        reported = WorkerDeploymentVersion(UNVERSIONED, build or importlib.metadata.version("paramedic"))
        return WorkerDeploymentConfig(reported, use_worker_versioning=False)
    version = WorkerDeploymentVersion(deployment, build)
    return WorkerDeploymentConfig(
        version, use_worker_versioning=True, default_versioning_behavior=VersioningBehavior.PINNED
    )


def _refused(variable: str, value: str, why: str) -> SettingsError:
    return SettingsError(f"{variable}: {why}, and have at most {LONGEST_NAME} characters (found {value!r})")


def _notification_worker(
    settings: Settings, connections: Connections, counting: MetricsInterceptor, temporal: TemporalClient
) -> Worker:
    """The worker of the activity `notify`: receivers that do not answer take no slot of an act.

    It has no version, because each worker delivers the notifications of incidents of any version.
    """
    reads = SharedReads(connections.management.client)
    receivers = Receivers(reads, settings.namespace, Path(settings.notification_directory))
    notify = Notify(receivers, monotonic_clock)
    return Worker(
        temporal,
        task_queue=notification_queue(connections.cluster),
        activities=[notify.notify],
        # Without a build id the SDK hashes all modules, which blocks the event loop for a second.
        build_id=importlib.metadata.version("paramedic"),
        interceptors=[counting],
        max_concurrent_activities=MOST_NOTIFICATIONS,
        activity_task_poller_behavior=PollerBehaviorSimpleMaximum(NOTIFICATION_POLLERS),
        graceful_shutdown_timeout=WITHIN,
    )


def _worker(
    settings: Settings,
    connections: Connections,
    version: WorkerDeploymentConfig,
    counting: MetricsInterceptor,
    temporal: TemporalClient,
) -> Worker:
    connection = connections.management
    client = connection.client
    leases = TargetLeases(client, settings.lease_namespace)
    clock = Clock(now=connection.server_clock.now, monotonic=monotonic_clock)
    clusters = ClusterConnections(connection, connections.workload_clusters)
    objects = LiveObjects(clusters, KIND_ACTIVITIES, (settings.namespace, LEADER_LEASE))
    maintenance = Maintenance(
        OwnRequests(objects), leases, clock.now, removes_confirmations=settings.confirmations == "remove"
    )
    retention = Retention(settings.evidence_limit, timedelta(seconds=settings.evidence_keep_seconds))
    evidence = EvidenceConfigMaps(client, settings.namespace, retention)
    revalidation = Revalidation(
        objects,
        settings.lease_namespace,
        settings.namespace,
        requires_policy=settings.requires_policy,
    )
    event_recorder = EventRecorder(client, settings.identity, wall_clock)
    patient_recorder = EventRecorder(client, settings.identity, wall_clock, longest=EVENT_TIMEOUT)
    return Worker(
        temporal,
        task_queue=worker_queue(connections.cluster),
        workflows=WORKFLOWS,
        activities=[
            SaveEvidenceActivity(revalidation, evidence, clock.now).save_evidence,
            Act(leases, revalidation, clock, event_recorder).act,
            maintenance.clean_up,
            maintenance.renew,
            maintenance.annotate,
            SyncPauses(connection, clock, patient_recorder).sync_pauses,
        ],
        deployment_config=version,
        interceptors=[counting],
        # Tests run the workflows in the sandbox; here it would cost a third of all CPU (ADR 15).
        workflow_runner=UnsandboxedWorkflowRunner(),
        workflow_task_poller_behavior=PollerBehaviorSimpleMaximum(POLLERS),
        activity_task_poller_behavior=PollerBehaviorSimpleMaximum(POLLERS),
        graceful_shutdown_timeout=GRACE,
        sticky_queue_schedule_to_start_timeout=STICKY,
        max_cached_workflows=CACHED_INCIDENTS,
    )


async def _watch_kubernetes(connections: Connections, kinds: Sequence[CheckKind]) -> None:
    """Report continuously whether the API server lets us read the handled checks."""
    connection, problems = connections.management, connections.problems
    while True:
        for kind in kinds:

            async def read(kind: CheckKind = kind) -> None:
                discovery = Discovery(connection.transport)  # what is served may be another by now
                await current_version(connection.transport, (await discovery.first_served(kind)).path())

            await retry_forever(kind.resource_name, read, (KubernetesError,), problems)
        await asyncio.sleep(LOOK_AT_KUBERNETES_SECONDS)


async def _watch_leader(settings: Settings, connections: Connections) -> None:
    """Report continuously whether any detector holds the leader Lease."""
    management, namespace = connections.management, settings.namespace
    writer = StatusWriter(
        management.client, namespace, WORKER, settings.identity, management.server_clock.now
    )
    await look_forever(LeaderWatch(management.client, namespace, writer).look)
