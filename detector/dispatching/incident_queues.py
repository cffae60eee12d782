"""The incidents that `Dispatch` knows: which are open, refused, compared, called, or woken a moment ago."""

import asyncio
import heapq
import itertools
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from temporalio.service import RPCError

from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference
from runtime.problems import Problems, one_sentence
from runtime.temporal_trouble import is_for_all, may_be_of_one

BETWEEN_WAKES_SECONDS = 1.0
_CONSEQUENCE = "Temporal refuses a workflow, and takes others"


@dataclass(frozen=True)
class OpenIncident:
    """An open incident and its last observation."""

    incident: IncidentReference
    last_observation: Observation | None
    """The observation of its latest answer, or a later one without news; None if not known."""
    since: datetime
    """When this process learned of it."""


class OpenIncidents:
    """Open incidents by id and by target, and the last observation that each was given."""

    def __init__(self) -> None:
        self._by_id: dict[str, OpenIncident] = {}
        self._by_target: defaultdict[tuple[CheckReference, str], set[str]] = defaultdict(set)
        self.closed: set[str] = set()
        """The ids of incidents that were removed since the latest reconciliation began."""

    def get(self, incident: IncidentReference) -> OpenIncident | None:
        return self._by_id.get(incident.workflow_id)

    def put(self, incident: IncidentReference, last_observation: Observation | None, now: datetime) -> None:
        """Note that an incident is open, and the latest observation that is no news to it."""
        entry = self._by_id.get(incident.workflow_id)
        since = entry.since if entry else now
        self._by_id[incident.workflow_id] = OpenIncident(incident, last_observation, since)
        self._by_target[incident.check, incident.target.name].add(incident.workflow_id)

    def remove(self, incident: IncidentReference) -> None:
        self._by_id.pop(incident.workflow_id, None)
        self.closed.add(incident.workflow_id)
        target = incident.check, incident.target.name
        self._by_target[target].discard(incident.workflow_id)
        if not self._by_target[target]:
            del self._by_target[target]

    def of(self, check: CheckReference, target: str) -> frozenset[IncidentReference]:
        """The open incidents of one target of a check; several if its object was recreated."""
        ids = self._by_target.get((check, target), ())
        return frozenset(self._by_id[workflow_id].incident for workflow_id in ids)

    def all(self) -> tuple[OpenIncident, ...]:
        return tuple(self._by_id.values())


class Refusals:
    """The incidents whose calls Temporal refuses, while it takes others.

    An error of Temporal that says nothing about one workflow, such as one of its database, may still be about
    one alone. So an incident whose call fails again, after calls for others succeeded, is refused: its calls
    are repeated, and delay no others.
    """

    def __init__(self, report: Callable[[IncidentReference, str | None], None]) -> None:
        """`report` is called when an incident is refused, with the error, and with None at the end of it."""
        self._report = report
        self._successes = 0
        self._failed: dict[str, int] = {}
        """The calls that had succeeded at the latest failure of each incident."""
        self._refused = Problems(_CONSEQUENCE)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The id and the first error of each refused incident."""
        return self._refused.sentences

    def has_failed(self, incident: IncidentReference) -> bool:
        return incident.workflow_id in self._failed

    def is_refused_after(self, incident: IncidentReference, error: RPCError) -> bool:
        """Note a failed call; return whether Temporal refuses this incident, and not all calls."""
        workflow_id = incident.workflow_id
        others = self._successes > self._failed.get(workflow_id, self._successes)
        self._failed[workflow_id] = self._successes
        if self._refused.sentence(workflow_id):
            return True
        if is_for_all(error) and not (others and may_be_of_one(error)):
            return False
        self._refused.report(workflow_id, one_sentence(error))
        self._report(incident, one_sentence(error))
        return True

    def succeeded(self, incident: IncidentReference) -> None:
        self._successes += 1
        self.forget(incident)

    def forget(self, incident: IncidentReference) -> None:
        """Forget its failures, as it was called or is no longer wanted."""
        self._failed.pop(incident.workflow_id, None)
        if self._refused.sentence(incident.workflow_id):
            self._refused.report(incident.workflow_id, None)
            self._report(incident, None)

    def clear(self) -> None:
        """Forget all without a report, as this process no longer leads."""
        self._failed.clear()
        self._refused = Problems(_CONSEQUENCE)


class Comparisons:
    """The incidents that wait for a comparison with the current observation, each once, first in, first out.

    A change of the policy concerns thousands of incidents at once, and one comparison costs up to a
    millisecond, so they are compared in pieces. Incidents that are not open go first: wakes do not delay a
    start.
    """

    def __init__(self) -> None:
        self._to_start: dict[str, IncidentReference] = {}
        self._to_wake: dict[str, IncidentReference] = {}
        self._filled = asyncio.Event()

    def put(self, incident: IncidentReference, *, is_open: bool) -> None:
        """Add it; a waiting incident keeps its place."""
        waiting, other = (self._to_wake, self._to_start) if is_open else (self._to_start, self._to_wake)
        other.pop(incident.workflow_id, None)
        waiting.setdefault(incident.workflow_id, incident)
        self._filled.set()

    def discard(self, incident: IncidentReference) -> None:
        self._to_start.pop(incident.workflow_id, None)
        self._to_wake.pop(incident.workflow_id, None)

    async def get(self) -> IncidentReference:
        """Remove and return the next incident; yields to the event loop only while none waits."""
        while not (self._to_start or self._to_wake):
            self._filled.clear()
            await self._filled.wait()
        waiting = self._to_start or self._to_wake
        return waiting.pop(next(iter(waiting)))

    def clear(self) -> None:
        self._to_start.clear()
        self._to_wake.clear()


class WorkQueue:
    """The incidents to start or wake, in order of urgency, each once.

    The order is by our own clock: when the incident was added, plus how long it may wait. Clusters write the
    times in objects, so a hostile cluster could always put itself first; here the others get their turn.

    Only one call is made for an incident at a time: a wake that overtakes its start would find no workflow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, IncidentReference]] = []
        self._waiting: dict[str, float] = {}
        """When each waiting incident is due."""
        self._called: set[str] = set()
        self._after_the_call: dict[str, IncidentReference] = {}
        self._numbers = itertools.count()
        self._filled = asyncio.Event()

    def put(self, incident: IncidentReference, may_wait_seconds: float) -> None:
        """Add it, or bring it forward if it waits already and may wait less."""
        due = self._clock() + may_wait_seconds
        waits_until = self._waiting.get(incident.workflow_id)
        if waits_until is not None and waits_until <= due:
            return
        self._waiting[incident.workflow_id] = due
        if incident.workflow_id in self._called:
            self._after_the_call[incident.workflow_id] = incident
        else:
            self._push(incident)

    def _push(self, incident: IncidentReference) -> None:
        heapq.heappush(self._heap, (self._waiting[incident.workflow_id], next(self._numbers), incident))
        self._filled.set()

    async def get(self) -> IncidentReference:
        """Remove and return the most urgent incident, as soon as there is one; not again before `done`."""
        while True:
            while not self._heap:
                self._filled.clear()
                await self._filled.wait()
            due, _, incident = heapq.heappop(self._heap)
            if self._waiting.get(incident.workflow_id) == due:  # else it was brought forward
                del self._waiting[incident.workflow_id]
                self._called.add(incident.workflow_id)
                return incident

    def done(self, incident: IncidentReference) -> None:
        """Note the end of the call for an incident, with or without success."""
        self._called.discard(incident.workflow_id)
        again = self._after_the_call.pop(incident.workflow_id, None)
        if again is not None:
            self._push(again)

    def clear(self) -> None:
        self._heap.clear()
        self._waiting.clear()
        self._called.clear()
        self._after_the_call.clear()


class WakePace:
    """When each incident was last woken, and which wakes are delayed until a second after the one before.

    An earlier wake is delayed and not lost: the incident is compared again when the second is over. Starts,
    and wakes that may be starts, are never delayed.
    """

    def __init__(self, compare_later: Callable[[IncidentReference], None]) -> None:
        self._compare_later = compare_later
        self._woken: dict[str, float] = {}
        """Times of the clock of the event loop."""
        self._delayed: dict[str, asyncio.TimerHandle] = {}

    def note(self, incident: IncidentReference) -> None:
        """Note the time of a wake, to delay the next one."""
        self._woken[incident.workflow_id] = asyncio.get_running_loop().time()

    def delays(self, incident: IncidentReference) -> bool:
        """True if its wake is too early; then, a comparison is scheduled."""
        woken, loop = self._woken.get(incident.workflow_id), asyncio.get_running_loop()
        if woken is None or loop.time() >= woken + BETWEEN_WAKES_SECONDS:
            return False
        if incident.workflow_id not in self._delayed:
            at = woken + BETWEEN_WAKES_SECONDS
            self._delayed[incident.workflow_id] = loop.call_at(at, self._end_delay, incident)
        return True

    def _end_delay(self, incident: IncidentReference) -> None:
        self._delayed.pop(incident.workflow_id, None)
        self._compare_later(incident)

    def forget(self, incident: IncidentReference) -> None:
        """Forget when it was woken, as it is no longer open."""
        self._woken.pop(incident.workflow_id, None)

    def clear(self) -> None:
        for delayed in self._delayed.values():
            delayed.cancel()
        self._delayed.clear()
        self._woken.clear()
