"""DispatchQueue: incidents to start or to wake, most urgent first, each at most once."""

import asyncio
import heapq
import itertools
from datetime import UTC, datetime

from health.observation import Observation
from health.references import IncidentReference

Urgency = tuple[float, datetime]

_NEVER = datetime.max.replace(tzinfo=UTC)


def urgency(observation: Observation) -> Urgency:
    """The order of deadlines: first what waits least, among the expired what failed first."""
    since = observation.fact.since if observation.fact else _NEVER
    return observation.remaining_seconds, since


class DispatchQueue:
    """A queue in order of urgency."""

    def __init__(self) -> None:
        self._heap: list[tuple[Urgency, int, IncidentReference]] = []
        self._waiting: set[str] = set()
        self._numbers = itertools.count()
        self._filled = asyncio.Event()

    def put(self, incident: IncidentReference, order: Urgency) -> None:
        """Add `incident` unless it waits already."""
        if incident.workflow_id in self._waiting:
            return
        self._waiting.add(incident.workflow_id)
        heapq.heappush(self._heap, (order, next(self._numbers), incident))
        self._filled.set()

    async def get(self) -> IncidentReference:
        """The most urgent incident, as soon as there is one."""
        while not self._heap:
            self._filled.clear()
            await self._filled.wait()
        _, _, incident = heapq.heappop(self._heap)
        self._waiting.discard(incident.workflow_id)
        return incident

    def clear(self) -> None:
        """Forget all."""
        self._heap.clear()
        self._waiting.clear()
