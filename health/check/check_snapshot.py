"""CheckSnapshot: the input for status and Events of one check, at one moment."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from health.check.check_hold import NO_HOLDS, CheckHolds
from health.check.health_check import HealthCheck
from health.check.storm import Storm
from health.check.threshold import Allowance
from health.model.invalid_check import InvalidCheckError
from health.model.observation import Hold
from health.model.request_snapshot import RequestChange, RequestSnapshot
from health.model.verdict import Fact, Health, Verdict

EVENTS_LAST = timedelta(hours=1)
"""How long an API server keeps Events by default; until then it refuses a duplicate."""
REPORTED_WITHIN = timedelta(minutes=1)
"""A leader emits an Event within this time; half of it allows for another machine's clock."""


@dataclass(frozen=True, kw_only=True)
class TargetSnapshot:
    """One target that is unhealthy or has a request."""

    name: str
    uid: str
    """"" for a target that is gone."""
    verdict: Verdict
    requests: tuple[RequestSnapshot, ...] = ()
    hold: Hold | None = None
    """Why nothing new may be done for this target, regardless of its check."""
    owner_sign: str = ""
    """The sign of the owner whose work holds it; "": no owner's work does."""
    owner_until: datetime | None = None
    """When that hold ends, although the sign lasts."""
    overdue: tuple[str, ...] = ()
    """The work of owners that no longer holds it, because it takes too long, in words."""
    is_exhausted: bool = False
    """Whether every step of its escalation was tried."""
    step_ends: datetime | None = None
    """When the current step times out."""
    has_empty_exclusion: bool = False
    """Whether the exclusion label has an empty value, which excludes nothing."""
    node_name: str = ""
    """The Node of a Machine, existing or not; "" without one."""
    back_off: Hold | None = None
    """Why its first request, deletion or mark is not due yet after earlier remediations in a row."""
    earlier_attempts: int = 0
    """The number of those remediations."""
    found: Hold | None = None
    """What stopped its latest act, if only the act could see it; None: nothing, or no act."""
    is_heard: bool = True
    """Whether its incident reported that to the current leader."""

    def newly_overdue(self, before: "TargetSnapshot | None") -> tuple[str, ...]:
        """The work of owners that held it `before` and takes too long now."""
        known = before.overdue if before is not None else ()
        return tuple(work for work in self.overdue if work not in known)

    @property
    def request_error(self) -> str | None:
        """Why the last creation of a request for it failed; None: it did not fail."""
        return None if self.found is None else self.found.request_error

    def own_hold(self, *, besides: Collection[str]) -> Hold | None:
        """The first hold for another reason than these: the detector's own, or the finding of the act."""
        holds = (self.hold, self.found)
        return next((hold for hold in holds if hold is not None and hold.reason not in besides), None)

    @property
    def is_published(self) -> bool:
        """True if status lists it: a running timer alone is not published (NHC 2.1/17)."""
        return self.verdict.health is Health.EXPIRED or bool(self.requests)

    def new_back_off(self, before: "TargetSnapshot | None") -> Hold | None:
        """The back-off hold, if back-off alone holds it and did not hold it `before` in the same row."""
        if self.hold is not None:
            return None
        if before is None or before.back_off is None or before.earlier_attempts != self.earlier_attempts:
            return self.back_off
        return None


@dataclass(frozen=True, kw_only=True)
class CheckSnapshot:
    """One check with its numbers, targets and holds."""

    check: HealthCheck | InvalidCheckError
    uid: str
    allowance: Allowance | None
    """The numbers; None for a check that does not parse."""
    targets: Mapping[str, TargetSnapshot] = field(default_factory=dict)
    holds: CheckHolds = NO_HOLDS
    """The holds of the check as a whole."""
    storm: Storm | None = None
    """Its latest storm."""
    selected: frozenset[str] = frozenset()
    """The names of all its targets."""
    request_changes: tuple[RequestChange, ...] = ()
    """Changes of its requests since the previous snapshot, including requests created and deleted in
    between."""
    requested: tuple[TargetSnapshot, ...] = ()
    """Unhealthy targets at the moment at which a request for each was created, since the previous snapshot;
    they may have recovered by now."""
    generation: int = 0
    """The generation of the check, even if it does not parse."""
    reported_until: datetime | None = None
    """Until when an earlier leader emitted the Events of this check (ADR 47); None: no leader did."""

    def unreported(self, now: datetime, *, was_held: bool) -> "CheckSnapshot":
        """The same with only the targets whose Events an earlier leader may not have emitted.

        The API server refuses a second Event within `EVENTS_LAST`, and not later. With `was_held` the status
        says that the earlier leader emitted no Events of targets.
        """
        if self.reported_until is None or was_held:
            return self
        since = min(now - EVENTS_LAST, self.reported_until - REPORTED_WITHIN)

        def is_recent(target: TargetSnapshot) -> bool:
            return (target.verdict.deadline or now) >= since

        recent = {name: target for name, target in self.targets.items() if is_recent(target)}
        return replace(self, targets=recent, requested=tuple(filter(is_recent, self.requested)))

    @property
    def suppresses_target_events(self) -> bool:
        """True if targets have no Events: all are held, or the check cannot be read."""
        return self.allowance is None or self.holds.suppress_target_events

    def fact(self, target: str) -> Fact | None:
        """The condition that makes the target of that name unhealthy, expired or not; None if healthy."""
        state = self.targets.get(target)
        return state.verdict.fact if state else None

    @property
    def is_blocked(self) -> bool:
        """True if the threshold holds a target now."""
        return self.allowance is not None and not self.allowance.allowed and bool(self.expired)

    @property
    def is_held_by_storm(self) -> bool:
        """True if a storm alone holds a target now: the threshold allows it again."""
        is_allowed = self.allowance is not None and self.allowance.allowed
        return is_allowed and self.storm is not None and self.storm.is_active and bool(self.expired)

    @property
    def expired(self) -> tuple[TargetSnapshot, ...]:
        """The targets whose deadline has passed, by name."""
        return tuple(
            target for _, target in sorted(self.targets.items()) if target.verdict.health is Health.EXPIRED
        )
