"""DispatchQueue: incidents to start or to wake, most urgent first, each at most once.

Of one incident one call is made at a time: a look that overtakes its start would find no workflow to wake.
"""

import asyncio
import heapq
import itertools
from datetime import UTC, datetime

from health.model.observation import Observation
from health.model.references import IncidentReference

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
        self._called: set[str] = set()
        self._after_the_call: dict[str, tuple[Urgency, IncidentReference]] = {}
        self._numbers = itertools.count()
        self._filled = asyncio.Event()

    def put(self, incident: IncidentReference, order: Urgency) -> None:
        """Add `incident` unless it waits already."""
        if incident.workflow_id in self._waiting:
            return
        self._waiting.add(incident.workflow_id)
        if incident.workflow_id in self._called:
            self._after_the_call[incident.workflow_id] = order, incident
        else:
            self._push(incident, order)

    def _push(self, incident: IncidentReference, order: Urgency) -> None:
        heapq.heappush(self._heap, (order, next(self._numbers), incident))
        self._filled.set()

    async def get(self) -> IncidentReference:
        """The most urgent incident, as soon as there is one; not again before it is `done`."""
        while not self._heap:
            self._filled.clear()
            await self._filled.wait()
        _, _, incident = heapq.heappop(self._heap)
        self._waiting.discard(incident.workflow_id)
        self._called.add(incident.workflow_id)
        return incident

    def done(self, incident: IncidentReference) -> None:
        """The call for an incident has ended, however."""
        self._called.discard(incident.workflow_id)
        next_call = self._after_the_call.pop(incident.workflow_id, None)
        if next_call is not None:
            order, again = next_call
            self._push(again, order)

    def clear(self) -> None:
        """Forget all."""
        self._heap.clear()
        self._waiting.clear()
        self._called.clear()
        self._after_the_call.clear()
