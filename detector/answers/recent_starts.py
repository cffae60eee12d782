"""RecentStarts: the remediations that began within the last hour, as far as anybody saw or said."""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from detector.state.in_flight import Remediated


class RecentStarts:
    """Those of one cluster."""

    def __init__(self) -> None:
        self._began: defaultdict[Remediated, list[datetime]] = defaultdict(list)
        """In order."""

    def note(self, remediated: Remediated, began: datetime) -> None:
        """Note one that was seen to begin."""
        insort(self._began[remediated], began)

    def note_ended(self, remediated: Remediated, ended: datetime) -> bool:
        """Note one that has ended; when it began nobody knows, so it counts from its end.

        Answers whether it was not known: one that was seen to begin is.
        """
        known = self._began.get(remediated)
        if known and known[0] <= ended:
            return False
        self.note(remediated, ended)
        return True

    def since(self, horizon: datetime) -> Iterator[tuple[Remediated, datetime]]:
        """Those that began after that."""
        for remediated, times in self._began.items():
            for began in times[bisect_right(times, horizon) :]:
                yield remediated, began

    def forget(self, horizon: datetime) -> None:
        """Forget those that began until then."""
        for remediated, times in list(self._began.items()):
            late = times[bisect_right(times, horizon) :]
            if late:
                self._began[remediated] = late
            else:
                del self._began[remediated]
