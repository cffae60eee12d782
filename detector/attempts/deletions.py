"""Deletions and marks: ends of remediations that no request tells of (rule 14).

A target that is deleted when its time is over was remediated, and its owner's next ones follow, whoever
deleted it: a person who does so between two of ours is part of the row. But one that was healthy until then,
or not unhealthy for long enough, was no remediation, whatever its end makes of it: it must have been seen
unhealthy before, or say itself that it was. Without a finalizer it goes in an instant, and is never seen
going.

A mark is taken off by the controller that obeyed it when that is done, or gave up: whoever marks the target
next waits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from detector.attempts.attempts import SECOND, Attempts, Deletion
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.gate.back_off import EndedAttempt
from health.gate.health_check import HealthCheck
from health.gate.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from health.model.verdict import HEALTHY, Verdict

Sees = Callable[[CheckReference], bool]
"""Whether all that the numbers of a check rest on was read."""
_Name = tuple[CheckReference, str]


@dataclass(frozen=True)
class _Failing:
    """An unhealthy target."""

    seen: Target
    since: datetime
    deadline: datetime
    is_observed: bool = True
    """Whether it was seen before somebody deleted it."""


class Deletions:
    """Tells the attempts of one detector what the cluster state shows."""

    def __init__(
        self, cluster_state: ClusterState, attempts: Attempts, sees: Sees, now: Callable[[], datetime]
    ) -> None:
        self._cluster_state = cluster_state
        self._attempts = attempts
        self._sees = sees
        self._now = now
        self._failing: dict[_Name, _Failing] = {}
        """Those that nobody deletes yet."""
        self._noted: dict[_Name, str] = {}
        """The uids whose deletion was noted, and that are not gone yet."""

    def changed(self, check: CheckReference, target: str | None) -> None:
        """See what became of a target."""
        if target is None:
            return
        name, judge = (check, target), self._cluster_state.checks.get(check)
        if judge is None or isinstance(judge.check, InvalidCheckError):
            self._forget(name)
            return
        seen = self._cluster_state.targets.get(check, target)
        if seen is None:
            self._see_gone(name)
            return
        if not seen.replaced_by:
            self._forget(name)  # nothing follows it, as nothing follows a Node
            return
        # Of one that is not selected any more nothing is so by this check.
        verdict = self._verdict(judge.check, seen) if target in judge.unhealthy else HEALTHY
        if seen.metadata.deletion_timestamp is None:
            self._see(name, seen, verdict)
        else:
            self._see_going(name, seen, verdict, seen.metadata.deletion_timestamp)

    def _verdict(self, check: HealthCheck, seen: Target) -> Verdict:
        return check.verdict(seen, self._now(), self._cluster_state.cluster_context)

    def _forget(self, name: _Name) -> None:
        self._failing.pop(name, None)
        self._noted.pop(name, None)

    def _see(self, name: _Name, seen: Target, verdict: Verdict) -> None:
        self._forget(name)
        if verdict.fact is not None and verdict.deadline is not None:
            self._failing[name] = _Failing(seen, verdict.fact.since, verdict.deadline)

    def _see_going(self, name: _Name, seen: Target, verdict: Verdict, deleted: datetime) -> None:
        failing = self._failing.pop(name, None) or _before_its_end(seen, verdict, deleted)
        # Once: its own deletion may look like one that it came after.
        if failing is not None and self._noted.get(name) != seen.metadata.uid:
            self._noted[name] = seen.metadata.uid
            self._note(name, failing, deleted)

    def _see_gone(self, name: _Name) -> None:
        failing = self._failing.get(name)
        self._forget(name)
        is_unreadable = self._cluster_state.targets.is_unreadable(place_of(name[0]).named(name[1]))
        if failing is not None and not is_unreadable:
            self._note(name, failing, self._now())

    def _note(self, name: _Name, failing: _Failing, deleted: datetime) -> None:
        # Deletions are told in whole seconds.
        if failing.deadline <= deleted + SECOND and self._sees(name[0]):
            place = place_of(name[0])
            deletion = Deletion(failing.seen, place, failing.since, deleted, failing.is_observed)
            self._attempts.deleted(deletion)


def _before_its_end(seen: Target, verdict: Verdict, deleted: datetime) -> _Failing | None:
    """How it failed, if that was before it was deleted; a time that moves tells nothing."""
    fact, deadline = verdict.fact, verdict.deadline
    if fact is None or deadline is None or fact.is_moving or fact.since >= deleted:
        return None
    return _Failing(seen, fact.since, deadline, is_observed=False)


class MarkedTargets:
    """Tells the attempts of one detector what the cluster state shows."""

    def __init__(
        self, cluster_state: ClusterState, attempts: Attempts, sees: Sees, now: Callable[[], datetime]
    ) -> None:
        self._cluster_state = cluster_state
        self._attempts = attempts
        self._sees = sees
        self._now = now
        self._marked: dict[TargetName, tuple[str, datetime]] = {}
        """The uids that are marked, and since when they were seen to be."""

    def changed(self, check: CheckReference, target: str | None) -> None:
        """See what became of a target."""
        if target is None:
            return
        name, seen = place_of(check).named(target), self._cluster_state.targets.get(check, target)
        if seen is None:
            self._marked.pop(name, None)
        elif seen.is_marked:
            self._marked.setdefault(name, (seen.metadata.uid, self._now()))
        elif name in self._marked:
            self._see_unmarked(check, name, seen)

    def _see_unmarked(self, check: CheckReference, name: TargetName, seen: Target) -> None:
        uid, marked = self._marked.pop(name)
        judge = self._cluster_state.checks.get(check)
        if uid != seen.metadata.uid or judge is None or not self._sees(check):
            return
        number, now = self._attempts.before(name, seen).earlier(marked) + 1, self._now()
        # In vain: then it is part of the incident, which waits by itself.
        requested = now if name.name in judge.unhealthy else None
        self._attempts.note(name, EndedAttempt(number, now, requested))
