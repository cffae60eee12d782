"""Attempts: the latest ended remediation of each target, by name; what back-off is decided by (decision 14).

A target that its owner replaces ends with its deletion, and the owner's next ones are told of it.

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
from health.target import Target, TargetName, TargetPlace, owner_name

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

    def deleted(self, target: Target, place: TargetPlace, failed: datetime) -> None:
        """Note that a target, unhealthy since `failed`, is being deleted, and its owner replaces it."""
        deleted = target.metadata.deletion_timestamp
        if deleted is None or not target.replaced_by:
            return
        name = TargetName(place.kind, place.namespace, target.metadata.name)
        number = self._before(name, target).earlier(failed) + 1
        self.note(owner_name(place.namespace, target.replaced_by), EndedAttempt(number, deleted))

    def before(self, target: TargetReference, seen: Target | None = None) -> BackOff:
        """What is known of the latest remediation of a target, or of one that it replaces."""
        return self._before(TargetName.of(target), seen)

    def _before(self, name: TargetName, seen: Target | None) -> BackOff:
        own = self._latest.get(name)
        replaced = self._replaced(name.namespace, seen) if seen is not None else None
        known = [one for one in (own, replaced) if one is not None]
        return BackOff(self.limit, max(known, key=lambda one: one.ended, default=None), self.unread)

    def _replaced(self, namespace: str, seen: Target) -> EndedAttempt | None:
        """The latest deletion under the same owner, if `seen` came after it (decision 14)."""
        latest = self._latest.get(owner_name(namespace, seen.replaced_by)) if seen.replaced_by else None
        # In whole seconds, as the API server tells both.
        if latest is None or seen.metadata.creation_timestamp < latest.ended.replace(microsecond=0):
            return None
        return latest

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
