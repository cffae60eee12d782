"""Deletions and marks: ends of remediations that no request shows (rule 14).

The deletion of a target whose duration is over counts as a remediation, and its owner's next targets follow
it. A deletion by a person between two of ours counts as well. A deletion of a healthy target, or of one that
was not unhealthy for long enough, does not count, even if the deletion makes it unhealthy: the watch must
have shown it unhealthy before, or its own condition must say so. Without a finalizer an object vanishes at
once, and is never seen with a deletion timestamp.

The controller that obeys a mark removes it when it succeeded or gave up; the next mark waits for back-off.
"""

from collections.abc import Callable
from datetime import datetime

from detector.attempts.attempts import SECOND, Attempts, FailingTarget
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.gate.back_off import EndedAttempt
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from health.model.verdict import HEALTHY, Verdict

Sees = Callable[[CheckReference], bool]
"""Whether every source of the numbers of a check was read."""
_Name = tuple[CheckReference, str]


class Deletions:
    """Notes deletions of unhealthy targets as ended remediations."""

    def __init__(
        self, cluster_state: ClusterState, attempts: Attempts, sees: Sees, now: Callable[[], datetime]
    ) -> None:
        self._cluster_state = cluster_state
        self._attempts = attempts
        self._sees = sees
        self._now = now
        self._failing: dict[_Name, FailingTarget] = {}
        """Unhealthy targets without a deletion timestamp."""
        self._noted: dict[_Name, str] = {}
        """The uids of deleted targets that were noted and still exist."""

    def changed(self, check: CheckReference, target: str | None) -> None:
        if target is None:
            return
        name, judge = (check, target), self._cluster_state.checks.get(check)
        if judge is None or judge.check is None:
            self._forget(name)
            return
        observed_target = self._cluster_state.targets.get(check, target)
        if observed_target is None:
            self._see_gone(name)
            return
        if not observed_target.replaced_by:
            self._forget(name)  # it has no replacement, for example a Node
            return
        # A target that is not selected any more is not unhealthy by this check.
        verdict, context = HEALTHY, self._cluster_state.cluster_context
        if target in judge.unhealthy:
            verdict = judge.check.verdict(observed_target, self._now(), context)
        if observed_target.metadata.deletion_timestamp is not None:
            self._see_going(name, observed_target, verdict, observed_target.metadata.deletion_timestamp)
            return
        self._forget(name)
        if verdict.fact is not None and verdict.deadline is not None:
            self._failing[name] = FailingTarget(observed_target, verdict.fact.since, verdict.deadline)

    def _forget(self, name: _Name) -> None:
        self._failing.pop(name, None)
        self._noted.pop(name, None)

    def _see_going(self, name: _Name, target: Target, verdict: Verdict, deleted: datetime) -> None:
        failing = self._failing.pop(name, None) or _before_its_end(target, verdict, deleted)
        # Once: its own deletion would count as an earlier attempt.
        if failing is not None and self._noted.get(name) != target.metadata.uid:
            self._noted[name] = target.metadata.uid
            self._note(name, failing, deleted)

    def _see_gone(self, name: _Name) -> None:
        failing = self._failing.get(name)
        self._forget(name)
        is_unreadable = self._cluster_state.targets.is_unreadable(place_of(name[0]).named(name[1]))
        if failing is not None and not is_unreadable:
            self._note(name, failing, self._now())

    def _note(self, name: _Name, failing: FailingTarget, deleted: datetime) -> None:
        # Deletion timestamps are in whole seconds.
        if failing.deadline <= deleted + SECOND and self._sees(name[0]):
            self._attempts.deleted(failing, place_of(name[0]), deleted)


def _before_its_end(target: Target, verdict: Verdict, deleted: datetime) -> FailingTarget | None:
    """Its failure, if that came before its deletion; None if the time of its condition keeps moving."""
    fact, deadline = verdict.fact, verdict.deadline
    if fact is None or deadline is None or fact.is_moving or fact.since >= deleted:
        return None
    return FailingTarget(target, fact.since, deadline, is_observed=False)


class MarkedTargets:
    """Notes the removal of a mark as the end of a remediation."""

    def __init__(
        self, cluster_state: ClusterState, attempts: Attempts, sees: Sees, now: Callable[[], datetime]
    ) -> None:
        self._cluster_state = cluster_state
        self._attempts = attempts
        self._sees = sees
        self._now = now
        self._marked: dict[TargetName, tuple[str, datetime]] = {}
        """The uids of marked targets, and when the mark was first seen."""

    def changed(self, check: CheckReference, target: str | None) -> None:
        if target is None:
            return
        name, observed_target = place_of(check).named(target), self._cluster_state.targets.get(check, target)
        if observed_target is None:
            self._marked.pop(name, None)
        elif observed_target.is_marked:
            self._marked.setdefault(name, (observed_target.metadata.uid, self._now()))
        elif name in self._marked:
            self._see_unmarked(check, name, observed_target)

    def _see_unmarked(self, check: CheckReference, name: TargetName, target: Target) -> None:
        uid, marked = self._marked.pop(name)
        judge = self._cluster_state.checks.get(check)
        if uid != target.metadata.uid or judge is None or not self._sees(check):
            return
        number, now = self._attempts.before(name, target).earlier(marked) + 1, self._now()
        # Still unhealthy: the next attempt is part of the same incident, which waits by itself.
        requested = now if name.name in judge.unhealthy else None
        self._attempts.note(name, EndedAttempt(number, now, requested))
