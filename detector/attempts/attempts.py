"""Attempts: the ended remediations of each target, by name; what back-off is decided by (decision 14).

A target that its owner replaces ends with its deletion. One that was made after that follows it: after the
latest deletion under the owner before it was made, whatever is deleted beside it later. Else two that fail by
turns would take each other's waits away.

A remediation ends when the last request of its check for the target is gone. That is seen here first, in the
watch, a moment before the incident that deleted it ends, and also by a detector that does not lead. What
ended before our watch began is read from the incidents (`attempt_reading`), which note the same number and,
within a second, the same time, so that both may tell of one.

An end is remembered for twice the limit. It holds nothing after once the limit; a target that fails within
the limit, and is then held by something else for as long, begins anew.
"""

from bisect import bisect_left
from collections.abc import Callable
from datetime import datetime, timedelta

from detector.picture.request_index import RequestIndex, SeenRequest
from health.back_off import BackOff, EndedAttempt
from health.kinds import CHECK_KINDS
from health.target import Target, TargetName, TargetPlace, owner_name

SECOND = timedelta(seconds=1)
NOT_READ = "which remediations ended before was not read yet"


class Attempts:
    """The ended remediations of each target."""

    def __init__(self, limit: timedelta, requests: RequestIndex, now: Callable[[], datetime]) -> None:
        self.limit = limit
        self.unread = NOT_READ
        """Why it is not known yet what there was before; "" once it is."""
        self._requests = requests
        self._now = now
        self._ended: dict[TargetName, list[EndedAttempt]] = {}
        """By target or owner, in the order in which their latest ones became known; each list by its ends."""

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
        """Remember the end of a remediation, once; of two that ended together the later one in a row."""
        self._forget_the_old()
        ended = self._ended.get(target, [])
        at = bisect_left(ended, attempt.ended, key=_end)
        if attempt.ended < self.horizon:
            return
        if at < len(ended) and ended[at].ended == attempt.ended:
            ended[at] = max(ended[at], attempt, key=_number)
            return
        if at == len(ended):
            self._ended.pop(target, None)
            self._ended[target] = ended
        ended.insert(at, attempt)
        del ended[: bisect_left(ended, self.horizon, key=_end)]

    def deleted(self, target: Target, place: TargetPlace, failed: datetime) -> None:
        """Note that a target, unhealthy since `failed`, is being deleted, and its owner replaces it."""
        deleted = target.metadata.deletion_timestamp
        if deleted is None or not target.replaced_by:
            return
        name = place.named(target.metadata.name)
        number = self.before(name, target).earlier(failed) + 1
        self.note(owner_name(place.namespace, target.replaced_by), EndedAttempt(number, deleted))

    def before(self, name: TargetName, seen: Target | None = None) -> BackOff:
        """What is known of the latest remediation of a target, or of one that it replaces."""
        own = self._ended.get(name, [])[-1:]
        replaced = self._replaced(name.namespace, seen) if seen is not None else []
        return BackOff(self.limit, max([*own, *replaced], key=_end, default=None), self.unread)

    def _replaced(self, namespace: str, seen: Target) -> list[EndedAttempt]:
        """The latest deletion under the same owner that `seen` came after, if there is one (decision 14)."""
        ended = self._ended.get(owner_name(namespace, seen.replaced_by), []) if seen.replaced_by else []
        # In whole seconds, as the API server tells both.
        before = bisect_left(ended, seen.metadata.creation_timestamp + SECOND, key=_end)
        return ended[max(0, before - 1) : before]

    @property
    def horizon(self) -> datetime:
        """What ended before does not matter any more."""
        return self._now() - 2 * self.limit

    def _forget_the_old(self) -> None:
        horizon = self.horizon
        while self._ended:
            oldest, ended = next(iter(self._ended.items()))
            if ended[-1].ended >= horizon:
                return
            del self._ended[oldest]


def _end(attempt: EndedAttempt) -> datetime:
    return attempt.ended


def _number(attempt: EndedAttempt) -> int:
    return attempt.number
