"""500 MachineHealthChecks are paused for an upgrade and unpaused, with the requests in between."""

import asyncio
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

from bench.cluster import PROCESSES, BenchCluster
from bench.figure import Goal, scenario
from bench.fleet import PATIENCE, AnyObject, Fleet, Times, watched
from devcluster.demo.cluster_view import ClusterView, OpenShiftView
from devcluster.demo.fixtures import CHECKS, CLUSTER_VERSIONS, VERSION, cluster_version, spare_check
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from health.check.annotated_hold import PAUSED
from kube.errors import KubernetesError
from kube.record import Change
from workflows.upgrade_contracts import SYNC_PAUSES, upgrade_pause_id

SETTLED = timedelta(seconds=10)


@scenario(
    "upgrade",
    (
        Goal("Progressing=True to the last of 500 checks paused", 2, "s"),
        Goal("Progressing=False to the last of 500 checks unpaused", 2, "s"),
        Goal("PATCHes per check and upgrade, most", 2),
        Goal("writes in 3 minutes of the upgrade, 500 checks paused", 0),
        Goal("lists of MachineHealthChecks a minute, meanwhile", 1),
    ),
)
async def upgrade(
    cluster: BenchCluster,
    checks: int = 500,
    beginning_seconds: float = 60,
    quiet_minutes: float = 3,
) -> list[float]:
    """Measure one upgrade from its beginning to its end.

    In its beginning, of a minute, the pause looks more often than once a minute.
    """
    fleet, began = Fleet(cluster), datetime.now(UTC)
    names = [f"check-{number}" for number in range(checks)]
    paused, unpaused = Times(), Times()

    def note(change: Change[AnyObject]) -> None:
        if change.new is not None and PAUSED in change.new.metadata.annotations:
            paused.note(change.key.name)
        elif change.new is not None and change.key.name in paused:
            unpaused.note(change.key.name)

    async with watched(cluster, CHECKS, AnyObject, note):
        await cluster.client.create(DEFINITIONS, cluster_version()[0])
        await until(lambda: _has_version(fleet), within=PATIENCE, otherwise="ClusterVersions are not served")
        await _set_progressing(cluster, "False")
        spec = spare_check()["spec"]
        await asyncio.gather(*(fleet.create(CHECKS, name, spec) for name in names))
        await cluster.start(*PROCESSES)
        await cluster.until_quiet(SETTLED)

        upgrade_began = await _set_progressing(cluster, "True")
        await paused.until_all(names)
        await asyncio.sleep(beginning_seconds)
        since = datetime.now(UTC)
        await asyncio.sleep(60 * quiet_minutes)
        writes, syncs = cluster.writes(since), await _syncs(cluster, since)
        upgrade_ended = await _set_progressing(cluster, "False")
        await unpaused.until_all(names)
    patched = Counter(
        request.name
        for request in cluster.requests(began)
        if request.verb == "patch" and request.plural == CHECKS.plural and not request.subresource
    )
    return [
        max(paused.values()) - upgrade_began,
        max(unpaused.values()) - upgrade_ended,
        max(patched.values()),
        writes,
        syncs / quiet_minutes,
    ]


async def _has_version(fleet: Fleet) -> bool:
    try:
        await fleet.create(CLUSTER_VERSIONS, VERSION, {})
    except KubernetesError:
        return False
    return True


async def _set_progressing(cluster: BenchCluster, status: str) -> float:
    """Begin or end the upgrade; when that was, by the monotonic clock."""
    began = time.monotonic()
    await OpenShiftView(cluster.client, ClusterView(cluster.client)).set_progressing(status)
    return began


async def _syncs(cluster: BenchCluster, since: datetime) -> int:
    """The number of syncs since then. Each lists the checks once."""
    history = await cluster.temporal.get_workflow_handle(upgrade_pause_id(cluster.identity)).fetch_history()
    scheduled = (
        event.event_time.ToDatetime(UTC)
        for event in history.events
        if event.activity_task_scheduled_event_attributes.activity_type.name == SYNC_PAUSES.name
    )
    return sum(scheduled_at >= since for scheduled_at in scheduled)
