"""WaitingLine: the incidents that wait for limits, and which of them go first.

Who waits longest goes first. But nobody is kept by one that does not come: a worker may be stuck, a person
may hold it. Who was let go first and has not asked in its turn is passed over until it asks.

Thousands may stand here, and as many ask at once. So who goes first is settled anew only when somebody
leaves, when time may change it, and within a second of anybody's coming.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from detector.state.cluster_state import ClusterState
from detector.state.in_flight import Remediated
from health.gate.limits import Tally, Waiting, next_in_line
from health.model.references import IncidentReference

TURN = timedelta(seconds=30)
NEWCOMERS_JOIN = timedelta(seconds=1)
_NOW, _NEVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class InLine:
    """One that waits, or that will once it is due."""

    incident: IncidentReference
    due: datetime
    waiting: Waiting


class WaitingLine:
    """The line of one cluster."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._line: dict[Remediated, InLine] = {}
        self._awaited: dict[Remediated, datetime] = {}
        """Since when it is somebody's turn who has not come."""
        self._declined: dict[Remediated, IncidentReference] = {}
        """Those that would not act on an admission, as they said."""
        self._first: tuple[InLine, ...] = ()
        self._settled_until = _NOW

    def stand(self, one: InLine, now: datetime) -> None:
        """Put it in its place."""
        key = Remediated.of(one.incident)
        if self._line.get(key) != one:
            self._line[key] = one
            self.settle_by(now + NEWCOMERS_JOIN)

    def leave(self, incident: IncidentReference) -> None:
        """Something else holds it, or it wants nothing any more."""
        key = Remediated.of(incident)
        known = self._line.get(key)
        if known is not None and known.incident == incident:
            self._forget(key)

    def changed(self, key: Remediated) -> None:
        """See whether its target is still there, and unhealthy."""
        known = self._line[key].incident if key in self._line else self._declined.get(key)
        if known is None:
            return
        target, check = self._cluster_state.targets.get(*key), self._cluster_state.checks.get(key.check)
        is_there = target is not None and target.metadata.uid == known.target.uid
        if not is_there or check is None or key.target not in check.unhealthy:
            self._forget(key)
            self._declined.pop(key, None)

    def waiting(self, now: datetime) -> Iterator[Waiting]:
        """Those that would act now."""
        for key, one in self._line.items():
            if one.due <= now and key not in self._declined:
                yield one.waiting

    def came(self, incident: IncidentReference, *, would_act: bool) -> None:
        """It has asked; or it is told something, and would act on an admission or not, as it said last."""
        key = Remediated.of(incident)
        if self._awaited.pop(key, None) is not None or (key in self._declined) == would_act:
            self.settle_by(_NOW)
        if would_act:
            self._declined.pop(key, None)
        elif key in self._line:
            self._declined[key] = incident

    def empty(self) -> None:
        """Whoever waits will ask anew."""
        for known in (self._line, self._awaited, self._declined):
            known.clear()
        self.settle_by(_NOW)

    def settle_by(self, time: datetime) -> None:
        """Who goes first may be others from then on."""
        self._settled_until = min(self._settled_until, time)

    def is_settled(self, now: datetime) -> bool:
        """Whether those who go first are the right ones."""
        return now < self._settled_until

    def settle(self, tally: Tally, begin: Iterable[Remediated], now: datetime) -> None:
        """Settle who goes first; the tally counts them. Those who `begin` do not wait."""
        passed_over = (key for key, since in self._awaited.items() if now - since > TURN)
        others = {*begin, *self._declined, *passed_over}
        in_turn, changes = {}, [since + TURN for since in self._awaited.values() if since + TURN >= now]
        for key, one in self._line.items():
            if one.due > now:
                changes.append(one.due)
            elif key not in others:
                in_turn[one.waiting.name] = one
        first = next_in_line((one.waiting for one in in_turn.values()), tally, now)
        self._first = tuple(in_turn[waiting.name] for waiting in first)
        self._settled_until = min(changes, default=_NEVER)

    def call_next(self, now: datetime) -> Iterator[IncidentReference]:
        """Those who go first, each once for each turn: from now on they are awaited."""
        for one in self._first:
            key = Remediated.of(one.incident)
            if key not in self._awaited:
                self._awaited[key] = now
                self.settle_by(now + TURN)
                yield one.incident

    def _forget(self, key: Remediated) -> None:
        if self._line.pop(key, None) is not None:
            self.settle_by(_NOW)
        self._awaited.pop(key, None)
