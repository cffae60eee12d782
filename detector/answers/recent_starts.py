"""RecentStarts: the remediations that began within the last hour, as far as they were seen or are listed.

The remediations of one target follow each other. So one that ended began after the end of the one before:
where a start was seen in that time, the two are one. Else when it began is not known, and it counts from its
end. Neither the order in which ends are noted nor noting one twice changes the count.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from detector.state.in_flight import Remediated

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
_Times = defaultdict[Remediated, list[datetime]]
"""In order."""


class RecentStarts:
    """Those of one cluster."""

    def __init__(self) -> None:
        self._began: _Times = defaultdict(list)
        self._ended: _Times = defaultdict(list)

    def note(self, remediated: Remediated, began: datetime) -> None:
        """Note one that was seen to begin."""
        insort(self._began[remediated], began)

    def note_ended(self, remediated: Remediated, ended: datetime) -> bool:
        """Note one that has ended; answers whether that end was not known."""
        if ended in self._ended[remediated]:
            return False
        insort(self._ended[remediated], ended)
        return True

    def of(self, remediated: Remediated) -> tuple[datetime, ...]:
        """When the remediations of a target began, at the latest."""
        ends = self._ended.get(remediated)
        seen = tuple(self._began.get(remediated, ()))
        return (*seen, *self._unseen(remediated, ends)) if ends else seen

    def targets(self) -> set[Remediated]:
        return self._began.keys() | self._ended.keys()

    def _unseen(self, remediated: Remediated, ends: list[datetime]) -> Iterator[datetime]:
        """The ends of those of which no start was seen."""
        began, before = self._began.get(remediated, []), _BEFORE_ALL
        for end in ends:
            if bisect_right(began, before) == bisect_right(began, end):
                yield end
            before = end

    def forget(self, horizon: datetime) -> list[Remediated]:
        """Forget what was until then; returns the targets that this concerns."""
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
