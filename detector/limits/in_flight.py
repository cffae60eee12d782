"""InFlight: targets that have a request of a check, are being deleted, or are marked; updated by each change.

These are the traces of every remediation that began, in whatever process. A request counts until it is gone;
a deleted or marked Machine counts while it is not healthy. If the check becomes invalid, is deleted, or no
longer selects the target, the last verdict stands. No change announces the end of those, so they are polled.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Self

from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from detector.state.target_store import place_of
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.model.references import CheckReference, IncidentReference


class Remediated(NamedTuple):
    """A check and the name of a target that it remediates."""

    check: CheckReference
    target: str

    def __str__(self) -> str:
        return f"{self.check} {self.target}"

    @classmethod
    def of(cls, incident: IncidentReference) -> Self:
        """The check and target of an incident."""
        return cls(incident.check, incident.target.name)


Began = Callable[[Remediated, datetime | None], None]
"""Called when a remediation is under way, with the time when it began; None if that is not known."""
Ended = Callable[[Remediated], None]


@dataclass(frozen=True)
class _Disruption:
    """The deletion or mark of a target."""

    uid: str
    said_by: HealthCheck
    """The check as it was when it last judged the target."""


@dataclass
class _OfCheck:
    """The remediations under way of one check, by name of the target."""

    state: CheckState | None
    context: ClusterContext
    under_way: dict[str, _Disruption | None] = field(default_factory=dict)

    def judge_of(self, name: str) -> tuple[CheckState, HealthCheck] | None:
        """The check, if it judges the target now."""
        if self.state is None or self.state.check is None:
            return None
        return (self.state, self.state.check) if name in self.state.selected else None


class InFlight:
    """The remediations under way in one cluster."""

    def __init__(self, cluster_state: ClusterState, began: Began, ended: Ended) -> None:
        self._cluster_state = cluster_state
        self._began = began
        self._ended = ended
        self._checks: dict[CheckReference, _OfCheck] = {}

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Look at one target again; at all targets, if the check or its context was replaced."""
        of_check, state = self._checks.get(check), self._cluster_state.checks.get(check)
        context = self._cluster_state.cluster_context
        if of_check is None or of_check.state is not state or of_check.context is not context:
            self._look_at_all(check, state, context)
        elif target is not None:
            self._look(check, of_check, target)

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """Look at the targets of the request as it was and as it is."""
        for request in (before, after):
            if request is not None and request.owner is not None:
                self.changed(request.owner, request.request.target_name)

    def look_again(self) -> None:
        """Look at targets that no check judges: no change announces their end."""
        for check, of_check in list(self._checks.items()):
            for name in [name for name in of_check.under_way if of_check.judge_of(name) is None]:
                self._look_guarded(check, of_check, name)
            self._forget_if_gone(check, of_check)

    def _look_at_all(self, check: CheckReference, state: CheckState | None, context: ClusterContext) -> None:
        of_check = self._checks.setdefault(check, _OfCheck(state, context))
        of_check.state, of_check.context = state, context
        names = of_check.under_way.keys() | self._cluster_state.requests.targets_of(check)
        for name in names | (state.unhealthy | state.not_healthy if state else set()):
            self._look_guarded(check, of_check, name)
        self._forget_if_gone(check, of_check)

    def _forget_if_gone(self, check: CheckReference, of_check: _OfCheck) -> None:
        if of_check.state is None and not of_check.under_way:
            self._checks.pop(check, None)

    def _look_guarded(self, check: CheckReference, of_check: _OfCheck, name: str) -> None:
        with self._cluster_state.guard.item("in flight", Remediated(check, name)):
            self._look(check, of_check, name)

    def _look(self, check: CheckReference, of_check: _OfCheck, name: str) -> None:
        was_under_way, remediated = name in of_check.under_way, Remediated(check, name)
        disruption = self._disruption(check, of_check, name)
        requests = self._cluster_state.requests.of(check, name)
        if disruption is None and not requests:
            if was_under_way:
                del of_check.under_way[name]
                self._ended(remediated)
            return
        of_check.under_way[name] = disruption
        if not was_under_way:
            target = self._cluster_state.targets.get(check, name)
            deleted = target.metadata.deletion_timestamp if target else None
            self._began(remediated, requests[0].request.metadata.creation_timestamp if requests else deleted)

    def _disruption(self, check: CheckReference, of_check: _OfCheck, name: str) -> _Disruption | None:
        """The deletion or mark of the target, according to the check that last judged it."""
        targets, before, judge = (
            self._cluster_state.targets,
            of_check.under_way.get(name),
            of_check.judge_of(name),
        )
        target = targets.get(check, name)
        if target is None:
            return before if targets.is_unreadable(place_of(check).named(name)) else None
        uid = target.metadata.uid
        if judge is None:
            said_by = before.said_by if before is not None and before.uid == uid else None
        else:
            state, said_by = judge[0], judge[1]
            if name not in state.unhealthy and name not in state.not_healthy:
                return None
        if said_by is None or not (target.is_marked or said_by.under_way(target)):
            return None
        return _Disruption(uid, said_by)
