"""UnrequestedEnds: ends of remediations that no request shows, which are deletions and marks (rule 14).

The deletion of a target whose duration is over counts as a remediation, and its owner's next targets follow
it. A deletion by a person between two of ours counts as well. It counts only if the watch has shown the
target unhealthy before, or if its own condition says so: the deletion itself may make a target unhealthy.
Without a finalizer an object vanishes at once, and is never seen with a deletion timestamp.

A controller obeys a mark, and removes the mark when it succeeded or gave up; the next one waits for back-off.
"""

from collections.abc import Callable
from datetime import datetime

from detector.attempts.attempts import SECOND, Attempts, FailingTarget
from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.gate.back_off import EndedAttempt
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from health.model.verdict import HEALTHY, Verdict

Sees = Callable[[CheckReference], bool]
"""Returns whether every source of the numbers of a check was read."""
_Name = tuple[CheckReference, str]


class UnrequestedEnds:
    """Notes deletions of unhealthy targets, and removals of marks, as ended remediations."""

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
        self._marked: dict[TargetName, tuple[str, datetime]] = {}
        """The uids of marked targets, and when the mark was first seen."""

    def changed(self, check: CheckReference, target: str | None) -> None:
        if target is None:
            return
        judge = self._cluster_state.checks.get(check)
        observed_target = self._cluster_state.targets.get(check, target)
        self._look_for_deletion((check, target), judge, observed_target)
        if self._marked or (observed_target is not None and observed_target.is_marked):
            self._look_for_mark(check, judge, place_of(check).named(target), observed_target)

    def _look_for_deletion(self, name: _Name, judge: CheckState | None, target: Target | None) -> None:
        if judge is None or judge.check is None:
            self._forget(name)
            return
        if target is None:
            failing = self._failing.get(name)
            self._forget(name)
            is_unreadable = self._cluster_state.targets.is_unreadable(place_of(name[0]).named(name[1]))
            if failing is not None and not is_unreadable:
                self._note_deletion(name, failing, self._now())
            return
        if not target.replaced_by:
            self._forget(name)  # it has no replacement, for example a Node
            return
        # By this check a target is healthy once the check does not select it any more.
        verdict, deleted = HEALTHY, target.metadata.deletion_timestamp
        if name[1] in judge.unhealthy:
            verdict = judge.check.verdict(target, self._now(), self._cluster_state.cluster_context)
        if deleted is not None:
            failing = self._failing.pop(name, None) or _before_its_end(target, verdict, deleted)
            # Once: its own deletion would count as an earlier attempt.
            if failing is not None and self._noted.get(name) != target.metadata.uid:
                self._noted[name] = target.metadata.uid
                self._note_deletion(name, failing, deleted)
            return
        self._forget(name)
        if verdict.fact is not None and verdict.deadline is not None:
            self._failing[name] = FailingTarget(target, verdict.fact.since, verdict.deadline)

    def _forget(self, name: _Name) -> None:
        self._failing.pop(name, None)
        self._noted.pop(name, None)

    def _note_deletion(self, name: _Name, failing: FailingTarget, deleted: datetime) -> None:
        # Deletion timestamps are in whole seconds.
        if failing.deadline <= deleted + SECOND and self._sees(name[0]):
            self._attempts.deleted(failing, place_of(name[0]), deleted)

    def _look_for_mark(
        self, check: CheckReference, judge: CheckState | None, name: TargetName, target: Target | None
    ) -> None:
        if target is None:
            self._marked.pop(name, None)
        elif target.is_marked:
            self._marked.setdefault(name, (target.metadata.uid, self._now()))
        elif name in self._marked:
            uid, marked = self._marked.pop(name)
            if uid != target.metadata.uid or judge is None or not self._sees(check):
                return
            number, now = self._attempts.before(name, target).earlier(marked) + 1, self._now()
            # Still unhealthy: the next attempt is part of the same incident, which waits by itself.
            requested = now if name.name in judge.unhealthy else None
            self._attempts.note(name, EndedAttempt(number, now, requested))


def _before_its_end(target: Target, verdict: Verdict, deleted: datetime) -> FailingTarget | None:
    """Its failure, if that came before its deletion; None if the time of its condition keeps moving."""
    fact, deadline = verdict.fact, verdict.deadline
    if fact is None or deadline is None or fact.is_moving or fact.since >= deleted:
        return None
    return FailingTarget(target, fact.since, deadline, is_observed=False)
