"""Clocks of a worker that stand still unless a test moves them, each on its own."""

from datetime import UTC, datetime, timedelta

from kube.client import Client
from kube.resource import Object, Resource
from kube.transport import Transport


class Clocks:
    def __init__(self) -> None:
        self.wall = datetime.now(UTC)
        self.seconds = 1000.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def run(self, wall: timedelta, monotonic: timedelta) -> None:
        self.wall += wall
        self.seconds += monotonic.total_seconds()


class Lingering(Client):
    """A client whose answers for one kind arrive late: the clocks move meanwhile."""

    def __init__(
        self, transport: Transport, of: Resource, clocks: Clocks, wall: timedelta, monotonic: timedelta
    ) -> None:
        super().__init__(transport, "tests")
        self._of = of
        self._clocks = clocks
        self._wall = wall
        self._monotonic = monotonic

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        found = await super().get(resource, name, namespace)
        self._linger(resource)
        return found

    async def create(self, resource: Resource, body: Object, namespace: str = "") -> Object:
        created = await super().create(resource, body, namespace)
        self._linger(resource)
        return created

    def _linger(self, resource: Resource) -> None:
        if resource == self._of:
            self._clocks.run(self._wall, self._monotonic)
