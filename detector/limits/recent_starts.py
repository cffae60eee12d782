"""RecentStarts: the remediations that began within the last hour, as seen or as listed by Temporal.

The remediations of one target follow each other, so a remediation began after the previous one ended. If a
start was seen in that time, it is the start of this remediation; else its start is unknown, and it counts
from its end. Neither the order in which ends are noted nor noting one twice changes the count.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from detector.state.in_flight import Remediated

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
_Times = defaultdict[Remediated, list[datetime]]
"""Times in ascending order, by check and target."""


class RecentStarts:
    """The recent starts of remediations in one cluster."""

    def __init__(self) -> None:
        self._began: _Times = defaultdict(list)
        self._ended: _Times = defaultdict(list)

    def note(self, remediated: Remediated, began: datetime) -> None:
        """Note a start that the watch has shown."""
        insort(self._began[remediated], began)

    def note_ended(self, remediated: Remediated, ended: datetime) -> bool:
        """Note an end; returns whether it is new."""
        if ended in self._ended[remediated]:
            return False
        insort(self._ended[remediated], ended)
        return True

    def of(self, remediated: Remediated) -> tuple[datetime, ...]:
        """The latest times at which the remediations of a target can have begun."""
        ends = self._ended.get(remediated)
        seen = tuple(self._began.get(remediated, ()))
        return (*seen, *self._unseen(remediated, ends)) if ends else seen

    def targets(self) -> set[Remediated]:
        return self._began.keys() | self._ended.keys()

    def _unseen(self, remediated: Remediated, ends: list[datetime]) -> Iterator[datetime]:
        """The ends of remediations without a seen start."""
        began, before = self._began.get(remediated, []), _BEFORE_ALL
        for end in ends:
            if bisect_right(began, before) == bisect_right(began, end):
                yield end
            before = end

    def forget(self, horizon: datetime) -> list[Remediated]:
        """Forget times up to the horizon; returns the targets of forgotten times."""
        forgotten = []
        for known in (self._began, self._ended):
            old = [remediated for remediated, times in known.items() if times[0] <= horizon]
            for remediated in old:
                late = known.pop(remediated)
                late = late[bisect_right(late, horizon) :]
                if late:
                    known[remediated] = late
            forgotten += old
        return forgotten
