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

    def since(self, horizon: datetime) -> Iterator[tuple[Remediated, datetime]]:
        """Those that began after that."""
        for remediated, times in self._began.items():
            for began in times[bisect_right(times, horizon) :]:
                yield remediated, began
        for remediated, ends in self._ended.items():
            yield from ((remediated, end) for end in self._unseen(remediated, ends) if end > horizon)

    def _unseen(self, remediated: Remediated, ends: list[datetime]) -> Iterator[datetime]:
        """The ends of those of which no start was seen."""
        began, before = self._began.get(remediated, []), _BEFORE_ALL
        for end in ends:
            if bisect_right(began, before) == bisect_right(began, end):
                yield end
            before = end

    def forget(self, horizon: datetime) -> None:
        """Forget what was until then."""
        for known in (self._began, self._ended):
            for remediated, times in list(known.items()):
                late = times[bisect_right(times, horizon) :]
                if late:
                    known[remediated] = late
                else:
                    del known[remediated]
