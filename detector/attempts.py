"""Attempts: the latest ended remediation of each target, by name; what back-off is decided by (decision 14).

A remediation ends when the last request of its check for the target is gone. That is seen here first, in the
watch, a moment before the incident that deleted it ends, and also by a detector that does not lead. What
ended before our watch began is read from the incidents (`detector.attempt_reading`), which note the same
number and, within a second, the same time; the later one of two ends is kept, so that both may tell of one.

An end is remembered for twice the limit. It holds nothing after once the limit; a target that fails within
the limit, and is then held by something else for as long, begins anew.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from detector.request_index import RequestIndex, SeenRequest
from health.back_off import BackOff, EndedAttempt
from health.kinds import CHECK_KINDS
from health.references import TargetReference
from health.target import TargetName

NOT_READ = "which remediations ended before was not read yet"


class Attempts:
    """The latest ended remediation of each target."""

    def __init__(self, limit: timedelta, requests: RequestIndex, now: Callable[[], datetime]) -> None:
        self.limit = limit
        self.unread = NOT_READ
        """Why it is not known yet what there was before; "" once it is."""
        self._requests = requests
        self._now = now
        self._latest: dict[TargetName, EndedAttempt] = {}
        """In the order in which they became known."""

    def witness(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """Note the end of a remediation, if its last request went."""
        if before is None or after is not None or before.owner is None:
            return
        request, owner = before.request, before.owner
        if self._requests.of(owner, request.target_name):
            return
        target = TargetName(CHECK_KINDS[owner.kind].target_kind, owner.namespace, request.target_name)
        requested = request.metadata.creation_timestamp
        self.note(target, EndedAttempt(request.attempt, self._now(), requested))

    def note(self, target: TargetName, attempt: EndedAttempt) -> None:
        """Remember the end of a remediation, unless a later one of the target is known."""
        self._forget_the_old()
        known = self._latest.get(target)
        if known is not None and known.ended >= attempt.ended:
            return
        self._latest.pop(target, None)
        self._latest[target] = attempt

    def before(self, target: TargetReference) -> BackOff:
        """What is known of the latest remediation of a target."""
        return BackOff(self.limit, self._latest.get(TargetName.of(target)), self.unread)

    @property
    def horizon(self) -> datetime:
        """What ended before does not matter any more."""
        return self._now() - 2 * self.limit

    def _forget_the_old(self) -> None:
        horizon = self.horizon
        while self._latest:
            oldest = next(iter(self._latest))
            if self._latest[oldest].ended >= horizon:
                return
            del self._latest[oldest]
