"""RequestLedger: what counts of the life of a request: that it came, that it grew old, that it went.

Only the leader counts, so that the sum over all detectors is right; and it counts as new only what was made
since it leads, because the first list of a kind shows what another detector has counted.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from detector.metrics.failure_to_request import FailureToRequest
from detector.state.request_index import SeenRequest
from detector.watched_kind import RequestSeries


class RequestLedger:
    """Is told of each change of a request."""

    def __init__(
        self,
        series: Sequence[RequestSeries],
        failure_to_request: FailureToRequest,
        leads_since: Callable[[], datetime | None],
        now: Callable[[], datetime],
    ) -> None:
        self._series = series
        self._failure_to_request = failure_to_request
        self._leads_since = leads_since
        self._now = now

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """Count what became of a request."""
        since, request = self._leads_since(), after or before
        if since is None or request is None or request.owner is None:
            return
        if after is None:
            for series in self._series:
                series.request_ended(request, self._now())
        elif before is not None:
            if after.request.is_marked_as_old and not before.request.is_marked_as_old:
                for series in self._series:
                    series.request_grew_old(after)
        elif after.request.metadata.creation_timestamp >= since.replace(microsecond=0):
            self._failure_to_request.request_appeared(after, request.owner, self._now())
