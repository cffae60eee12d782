"""MarkedTargets: a mark that is taken off is the end of a remediation, as the end of a request is (14).

Another controller takes it off when it is done, or gave up: whoever marks the target next waits.
"""

from collections.abc import Callable
from datetime import datetime

from detector.attempts.attempts import Attempts
from detector.attempts.deletions import Sees
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.gate.back_off import EndedAttempt
from health.model.references import CheckReference
from health.model.target import Target, TargetName


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
