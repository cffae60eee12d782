"""The observations and freshness that a detector would return to an incident."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from detector.answers.observation_builder import ObservationBuilder
from detector.state.cluster_state import ClusterState
from health.model.observation import HoldReason, Observation
from health.model.references import IncidentReference
from health.policy.policy import Policy
from kube.connection import ClusterConnection
from kube.reflector_settings import SHORTEST_LIMIT, ReflectorSettings, Waits
from kube.transport import Transport
from runtime.problems import Problems
from runtime.settings import Settings
from tests.support.state.sources import Sources, Watched

SETTINGS = Settings(cluster="test")
LIMIT = SHORTEST_LIMIT
POLICY = Policy.model_construct(staleness_limit=LIMIT)
# As in production, but with shorter waits after a failure.
QUICK = ReflectorSettings(waits=Waits(longest=timedelta(seconds=0.5))).proving_life_within(LIMIT)


class Observer:
    """The sources and the cluster state of a detector, and its answer to one incident."""

    def __init__(self, transport: Transport, incident: IncidentReference) -> None:
        self._cluster_state = ClusterState("test")
        scope = Watched(lease_namespace=SETTINGS.lease_namespace, reflectors=lambda: QUICK)
        self._sources = Sources(
            ClusterConnection.over(transport), self._cluster_state, scope, Problems(), lambda: POLICY
        )
        self._incident = incident

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self._sources.run())
        try:
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    def age(self) -> timedelta | None:
        """The age of the oldest source of verdicts; None if one was never read."""
        ages = [source.age() for source in self._sources.feeds.watched.all if source.synced]
        known = [age for age in ages if age is not None]
        return max(known) if len(known) == len(self._sources.feeds.watched.all) else None

    def observe(self) -> Observation:
        freshness = self._sources.of_checks.freshness(self._incident.check)
        return ObservationBuilder(
            cluster_state=self._cluster_state,
            incident=self._incident,
            freshness=freshness,
            now=datetime.now(UTC),
        ).observation()

    def is_stale(self) -> bool:
        hold = self.observe().hold
        return hold is not None and hold.reason is HoldReason.STALE_CACHE
