"""PausableFleet: MachineHealthChecks without targets, a ClusterVersion, and a watch that records pauses."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from bench.cluster import BenchCluster
from bench.fleet import AT_ONCE, PATIENCE, running
from devcluster.demo.fixtures import CHECKS, NAMESPACE
from devcluster.demo.upgrade_fixtures import (
    CLUSTER_VERSIONS,
    VERSION,
    cluster_version,
    definition,
    spare_check,
)
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from health.check.pause import PAUSED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.errors import KubernetesError
from kube.record import Change
from kube.reflector import Reflector
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata
from objects.timestamps import stamp


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

    async def set_paused(self, name: str, *, is_paused: bool) -> None:
        """Write or remove the annotation, as a person does."""
        patch = {"metadata": {"annotations": {PAUSED: "" if is_paused else None}}}
        await self._client.merge_patch(CHECKS, name, patch, NAMESPACE)

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
