"""500 MachineHealthChecks are paused for an upgrade, edited, and unpaused; with requests and calls."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

from bench.audit import requests_for, writes_since
from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import PATIENCE
from bench.pausable_fleet import PausableFleet, watched_checks
from bench.temporal_requests import PROCESSES, TemporalRequests
from devcluster.polling import until
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from workflows.upgrade_contracts import upgrade_pause_id

CHECKS_IN_ALL = 500
EDITS = 100
EDITS_PER_SECOND = 2.0
"""Slower than changes are batched, so that each wakes the workflow."""
SETTLED_SECONDS = 10.0
QUIET_SECONDS = 60.0
KILOBYTE = 1024


async def measure(cluster: BenchCluster) -> list[Figure]:
    """Measure one upgrade from its beginning to its end."""
    temporal, began = TemporalRequests(cluster), datetime.now(UTC)
    async with watched_checks(cluster) as checks:
        await checks.set_up(CHECKS_IN_ALL)
        await cluster.start(*PROCESSES)
        await until(lambda: _is_settled(cluster), within=PATIENCE, otherwise="there always were writes")
        paused = await checks.time_to_pause()
        waiting = await _quiet_minute(cluster, temporal)
        await _edits(checks)
        unpaused = await checks.time_to_unpause()
    patches = _patches(cluster, checks.names, began)
    return [
        Figure(name="Progressing=True to the last of 500 checks paused", measured=paused, goal=5, unit="s"),
        Figure(
            name="Progressing=False to the last of 500 checks unpaused", measured=unpaused, goal=5, unit="s"
        ),
        Figure(name="PATCHes per check and upgrade, most", measured=max(patches), goal=2, unit=""),
        *waiting,
        *await _histories(cluster),
    ]


async def _quiet_minute(cluster: BenchCluster, temporal: TemporalRequests) -> list[Figure]:
    """Wait until all checks are paused and all Events written; then count for a minute without changes."""
    await until(lambda: _is_settled(cluster), within=PATIENCE, otherwise="there always were writes")
    since, asked = datetime.now(UTC), await temporal.count()
    await asyncio.sleep(QUIET_SECONDS)
    called = await temporal.count() - asked
    looks = requests_for(cluster, MACHINE_HEALTH_CHECK, since)
    return [
        Figure(
            name="writes in a minute of the upgrade, 500 checks paused",
            measured=writes_since(cluster, since),
            goal=0,
            unit="",
        ),
        Figure(
            name="calls of Temporal in that minute, but for the upkeep of two processes",
            measured=called,
            goal=0,
            unit="",
        ),
        Figure(
            name="reads and watches of MachineHealthChecks in that minute",
            measured=len(looks),
            goal=None,
            unit="",
        ),
    ]


async def _is_settled(cluster: BenchCluster) -> bool:
    since = datetime.now(UTC)
    await asyncio.sleep(SETTLED_SECONDS)
    return not writes_since(cluster, since)


async def _edits(checks: PausableFleet) -> None:
    """A person unpauses one check after the other, and pauses each again."""
    for number in range(EDITS):
        name = checks.names[number // 2]
        await checks.set_paused(name, is_paused=bool(number % 2))
        await asyncio.sleep(1 / EDITS_PER_SECOND)


def _patches(cluster: BenchCluster, names: list[str], began: datetime) -> list[int]:
    """The number of our patches for each check, with any answer."""
    asked = requests_for(cluster, MACHINE_HEALTH_CHECK, began)
    patched = Counter(one.name for one in asked if one.verb == "patch" and not one.subresource)
    return [patched[name] for name in names]


async def _histories(cluster: BenchCluster) -> list[Figure]:
    """The sizes of all runs of the workflow, each of which continued the one before."""
    handle = cluster.temporal.get_workflow_handle(upgrade_pause_id(cluster.identity))
    await handle.result()
    runs = [run async for run in cluster.temporal.list_workflows(f"WorkflowId = '{handle.id}'")]
    histories = [
        await cluster.temporal.get_workflow_handle(run.id, run_id=run.run_id).fetch_history() for run in runs
    ]
    events = [len(history.events) for history in histories]
    sizes = [sum(event.ByteSize() for event in history.events) / KILOBYTE for history in histories]
    return [
        Figure(
            name="runs of the workflow over an upgrade with 100 edits of 500 checks",
            measured=len(runs),
            goal=None,
            unit="",
        ),
        Figure(name="events of its history, all runs", measured=sum(events), goal=None, unit=""),
        Figure(name="size of its history, all runs", measured=sum(sizes), goal=None, unit="KB"),
        Figure(name="size of its longest run", measured=max(sizes), goal=None, unit="KB"),
    ]
