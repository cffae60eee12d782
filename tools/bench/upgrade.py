"""500 MachineHealthChecks are paused for an upgrade and unpaused, with the requests in between."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import AT_ONCE, PATIENCE, running
from bench.usage import PROCESSES, requests_for, writes_since
from devcluster.demo.fixtures import CHECKS, NAMESPACE
from devcluster.demo.upgrade_view import (
    CLUSTER_VERSIONS,
    VERSION,
    cluster_version,
    definition,
    spare_check,
)
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from health.check.annotated_hold import PAUSED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.errors import KubernetesError
from kube.record import Change
from kube.reflector import Reflector
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata
from objects.timestamps import stamp
from workflows.upgrade_contracts import SYNC_PAUSES, upgrade_pause_id


class WatchedCheck(FrozenObject):
    """The part of a check that the watch keeps."""

    metadata: ObjectMetadata


class PausableFleet:
    """The checks, and the time at which the pause of each changed, by the monotonic clock."""

    def __init__(self, cluster: BenchCluster) -> None:
        self.names: list[str] = []
        self.is_paused: dict[str, bool] = {}
        self.changed: dict[str, float] = {}
        self._client = cluster.client
        self._limit = asyncio.Semaphore(AT_ONCE)

    async def set_up(self, count: int) -> None:
        """Create this number of checks; no upgrade is under way."""
        await self._client.create(DEFINITIONS, definition())
        await until(self._has_version, within=PATIENCE, otherwise="ClusterVersions are not served")
        await self._set_progressing("False")
        self.names = [f"check-{number}" for number in range(count)]
        await asyncio.gather(*map(self._add, self.names))

    async def time_to_pause(self) -> float:
        """Begin the upgrade; the seconds from that write until every check is seen paused."""
        return await self._time_until(progressing="True", are_paused=True)

    async def time_to_unpause(self) -> float:
        """End the upgrade; the seconds until no check is paused."""
        return await self._time_until(progressing="False", are_paused=False)

    def note(self, change: Change[WatchedCheck]) -> None:
        """Record when a pause changes, as the handler of the watch."""
        if change.new is None:
            return
        name, is_paused = change.key.name, PAUSED in change.new.metadata.annotations
        if is_paused != self.is_paused.get(name):
            self.is_paused[name], self.changed[name] = is_paused, time.monotonic()

    async def _add(self, name: str) -> None:
        async with self._limit:
            await self._client.create(CHECKS, spare_check() | {"metadata": {"name": name}}, NAMESPACE)

    async def _has_version(self) -> bool:
        try:
            await self._client.create(CLUSTER_VERSIONS, cluster_version())
        except KubernetesError:
            return False
        return True

    async def _set_progressing(self, status: str) -> None:
        since = stamp(datetime.now(UTC).replace(microsecond=0))
        condition = {"type": "Progressing", "status": status, "lastTransitionTime": since}
        patch = {"status": {"conditions": [condition]}}
        await self._client.merge_patch(CLUSTER_VERSIONS, VERSION, patch, subresource="status")

    async def _time_until(self, *, progressing: str, are_paused: bool) -> float:
        began = time.monotonic()
        await self._set_progressing(progressing)

        async def are_so() -> bool:
            return all(self.is_paused[name] == are_paused for name in self.names)

        await until(are_so, within=PATIENCE, otherwise=f"not every check came to be paused={are_paused}")
        return max(self.changed.values()) - began


@asynccontextmanager
async def watched_checks(cluster: BenchCluster) -> AsyncIterator[PausableFleet]:
    """A fleet without checks, which are watched while the block runs."""
    fleet = PausableFleet(cluster)
    watch = Reflector(cluster.transport, MACHINE_HEALTH_CHECK, WatchedCheck, notify=fleet.note)
    async with running(watch):
        yield fleet


CHECKS_IN_ALL = 500
SETTLED_SECONDS = 10.0
BEGINNING_SECONDS = 60.0
"""Until then the pause looks more often than once a minute."""
QUIET_MINUTES = 3


async def measure(cluster: BenchCluster) -> list[Figure]:
    """Measure one upgrade from its beginning to its end."""
    began = datetime.now(UTC)
    async with watched_checks(cluster) as checks:
        await checks.set_up(CHECKS_IN_ALL)
        await cluster.start(*PROCESSES)
        await until(lambda: _is_settled(cluster), within=PATIENCE, otherwise="there always were writes")
        paused = await checks.time_to_pause()
        waiting = await _quiet_minutes(cluster)
        unpaused = await checks.time_to_unpause()
    patches = _patches(cluster, checks.names, began)
    return [
        Figure("Progressing=True to the last of 500 checks paused", paused, unit="s", goal=2),
        Figure("Progressing=False to the last of 500 checks unpaused", unpaused, unit="s", goal=2),
        Figure("PATCHes per check and upgrade, most", max(patches), goal=2),
        *waiting,
    ]


async def _quiet_minutes(cluster: BenchCluster) -> list[Figure]:
    """Wait until the begin of the upgrade is over; then count for some minutes without changes."""
    await asyncio.sleep(BEGINNING_SECONDS)
    since = datetime.now(UTC)
    await asyncio.sleep(QUIET_MINUTES * 60)
    return [
        Figure(
            f"writes in {QUIET_MINUTES} minutes of the upgrade, 500 checks paused",
            writes_since(cluster, since),
            goal=0,
        ),
        Figure(
            "lists of MachineHealthChecks a minute, meanwhile",
            await _syncs_since(cluster, since) / QUIET_MINUTES,
            goal=1,
        ),
    ]


async def _syncs_since(cluster: BenchCluster, since: datetime) -> int:
    """The number of syncs since then. Each lists the checks once."""
    history = await cluster.temporal.get_workflow_handle(upgrade_pause_id(cluster.identity)).fetch_history()
    scheduled = (
        event.event_time.ToDatetime(UTC)
        for event in history.events
        if event.activity_task_scheduled_event_attributes.activity_type.name == SYNC_PAUSES.name
    )
    return sum(time >= since for time in scheduled)


async def _is_settled(cluster: BenchCluster) -> bool:
    since = datetime.now(UTC)
    await asyncio.sleep(SETTLED_SECONDS)
    return not writes_since(cluster, since)


def _patches(cluster: BenchCluster, names: list[str], began: datetime) -> list[int]:
    """The number of our patches for each check, with any answer."""
    requests = requests_for(cluster, MACHINE_HEALTH_CHECK, began)
    patched = Counter(
        request.name for request in requests if request.verb == "patch" and not request.subresource
    )
    return [patched[name] for name in names]
