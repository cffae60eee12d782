"""AdmissionQueue: holds incidents that wait for limits, and selects those that begin next.

The target that waits longest goes first. An incident that was notified of its turn and does not ask in time
is passed over until it asks: a worker may be stuck, or a person may hold the incident.

Thousands may wait here, and as many ask at once, so an answer does not walk the queue. The queue selects anew
at the next question after a slot is freed that a refused target waits for, and within a second of any other
change.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from detector.limits.in_flight import Remediated
from detector.state.cluster_state import ClusterState
from health.model.references import CheckReference, IncidentReference
from health.policy.limit_usage import LimitUsage, Selection, SlotChange
from health.policy.limits import Slot, Waiting

TURN = timedelta(seconds=30)
CHANGES_COUNT_WITHIN = timedelta(seconds=1)
_NOW, _NEVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class QueueEntry(NamedTuple):
    """An incident that waits, or will wait once it is due."""

    incident: IncidentReference
    due: datetime
    waiting: Waiting


class AdmissionQueue:
    """The admission queue of one cluster, by check and target."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._entries: dict[Remediated, QueueEntry] = {}
        self._notified: dict[Remediated, datetime] = {}
        """When incidents were notified of their turn, for those that have not asked since."""
        self._declined: dict[Remediated, IncidentReference] = {}
        """The incidents whose latest question says that they would not act on an admission."""
        self._in_turn: dict[str, QueueEntry] = {}
        """The entries of the latest selection, by the name of the incident."""
        self.selection = Selection()
        self._select_by = _NOW

    def enqueue(self, entry: QueueEntry, now: datetime) -> None:
        key = Remediated.of(entry.incident)
        queued = self._entries.get(key)
        if queued != entry:
            self._deselect(key)
            self._entries[key] = entry
            self.select_soon(now)

    def dequeue(self, incident: IncidentReference) -> None:
        """Remove an incident: another hold applies, or it no longer wants to act."""
        key = Remediated.of(incident)
        queued = self._entries.get(key)
        if queued is not None and queued.incident == incident:
            self._remove(key)

    def changed(self, key: Remediated) -> None:
        """Remove an incident whose target is gone or not unhealthy any more."""
        incident = self._entries[key].incident if key in self._entries else self._declined.get(key)
        if incident is None:
            return
        target, check = self._cluster_state.targets.get(*key), self._cluster_state.checks.get(key.check)
        is_there = target is not None and target.metadata.uid == incident.target.uid
        if not is_there or check is None or key.target not in check.unhealthy:
            self._remove(key)
            self._declined.pop(key, None)

    def waiting(self, now: datetime) -> Iterator[Waiting]:
        """The targets that would be remediated now."""
        for key, entry in self._entries.items():
            if entry.due <= now and key not in self._declined:
                yield entry.waiting

    def asked(self, incident: IncidentReference, now: datetime, *, would_act: bool) -> None:
        """Note a question; `would_act` is whether the incident would act on an admission."""
        key = Remediated.of(incident)
        was_notified = self._notified.pop(key, None) is not None
        if would_act and (self._declined.pop(key, None) is not None or was_notified):
            self.select_soon(now)
        elif not would_act and key in self._entries:
            self._declined[key] = incident
            self._deselect(key)

    def empty(self, check: CheckReference | None = None) -> None:
        """Remove the incidents of a check, or all; each will be observed again."""
        for key in {*self._entries, *self._notified, *self._declined}:
            if check in (None, key.check):
                self._remove(key)
                self._declined.pop(key, None)
        self._select_by = _NOW

    def slots_changed(self, key: Remediated, change: SlotChange, usage: LimitUsage, now: datetime) -> None:
        """Update the queue for slots that the remediation of a target took or freed."""
        is_unexpected = bool(change.taken) and not self._take_out(key)
        if is_unexpected and change.by and not usage.has_room_for(self.selection, change.by, now):
            self._select_by = _NOW
        self._freed(change.freed)
        self.select_soon(now)

    def select_soon(self, now: datetime) -> None:
        self._select_by = min(self._select_by, now + CHANGES_COUNT_WITHIN)

    def is_selection_due(self, now: datetime) -> bool:
        return now >= self._select_by

    def select(self, usage: LimitUsage, has_begun: Callable[[Remediated], bool], now: datetime) -> None:
        """Make a new selection; a target whose remediation has begun does not wait."""
        late = {key for key, since in self._notified.items() if now - since > TURN}
        self._in_turn = {
            entry.waiting.name: entry
            for key, entry in self._entries.items()
            if entry.due <= now and key not in self._declined and key not in late and not has_begun(key)
        }
        self.selection = usage.select((entry.waiting for entry in self._in_turn.values()), now)
        turns = (since + TURN for key, since in self._notified.items() if key not in late)
        dues = (entry.due for entry in self._entries.values() if entry.due > now)
        self._select_by = min((*turns, *dues), default=_NEVER)

    def notify(self, now: datetime) -> Iterator[IncidentReference]:
        """Notify the selected incidents, each once in its turn."""
        for entry in [self._in_turn[name] for name in self.selection]:
            incident = entry.incident
            key = Remediated.of(incident)
            # Between two notifications an incident may have asked, or another selection may have been made.
            if key not in self._notified and entry.waiting.name in self.selection:
                self._notified[key] = now
                self._select_by = min(self._select_by, now + TURN)
                yield incident

    def _remove(self, key: Remediated) -> None:
        self._deselect(key)
        self._entries.pop(key, None)
        self._notified.pop(key, None)

    def _deselect(self, key: Remediated) -> None:
        """Free the slots that a selected target was to use."""
        self._freed(self._take_out(key))

    def _take_out(self, key: Remediated) -> tuple[Slot, ...]:
        entry = self._entries.get(key)
        return self.selection.remove(entry.waiting.name) if entry else ()

    def _freed(self, slots: Iterable[Slot]) -> None:
        if self.selection.is_waited_for(slots):
            self._select_by = _NOW
