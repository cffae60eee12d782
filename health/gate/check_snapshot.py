"""CheckSnapshot: everything that status and Events of one check are made from, at one moment."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from health.gate.check_context import NO_CONTEXT, CheckContext
from health.gate.health_check import HealthCheck
from health.gate.invalid_check import InvalidCheckError
from health.gate.storm import Storm
from health.gate.threshold import Allowance
from health.model.observation import Hold
from health.model.request_snapshot import RequestChange, RequestSnapshot
from health.model.verdict import Fact, Health, Verdict

EVENTS_LAST = timedelta(hours=1)
"""For so long an API server keeps Events by default, and refuses one that was told already."""
REPORTED_WITHIN = timedelta(minutes=1)
"""A leader emits an Event within this time. A clock of another machine may be half of it off."""


@dataclass(frozen=True)
class TargetSnapshot:
    """One target that is unhealthy or still has a request."""

    name: str
    uid: str
    """"" for a target that is gone."""
    verdict: Verdict
    requests: tuple[RequestSnapshot, ...] = ()
    hold: Hold | None = None
    """Why nothing new may be done for this target, whatever the check allows."""
    is_exhausted: bool = False
    """Whether no step of an escalation is left for it."""
    step_ends: datetime | None = None
    """When the time of the step that runs is over."""
    has_empty_exclusion: bool = False
    """Whether somebody meant to exclude it, and did not say so."""
    node_name: str = ""
    """The Node of a Machine, there or not; "" where it has none."""
    back_off: Hold | None = None
    """Why its first request, deletion or mark is not due yet, after earlier remediations in a row."""
    earlier_attempts: int = 0
    """How many those were."""
    found: Hold | None = None
    """What held the latest act on it, as only the act could see; None where nothing did or was tried."""
    is_heard: bool = True
    """Whether its incident has told that, since this detector leads."""

    @property
    def request_error(self) -> str:
        """Why a request for it could not be created the last time; "" where it could, or none was tried."""
        return "" if self.found is None else self.found.request_error

    def held_by(self, reasons: Collection[str]) -> Hold | None:
        """What holds it for one of these reasons: as we see it, else as its latest act found."""
        holds = (self.hold, self.found)
        return next((hold for hold in holds if hold is not None and hold.reason in reasons), None)

    @property
    def is_published(self) -> bool:
        """Whether status lists it: a running timer alone is not published (NHC 2.1/17)."""
        return self.verdict.health is Health.EXPIRED or bool(self.requests)

    def new_back_off(self, before: "TargetSnapshot | None") -> Hold | None:
        """What holds it, if that is back-off alone, and was not yet `before`, after as many remediations."""
        if self.hold is not None:
            return None
        if before is None or before.back_off is None or before.earlier_attempts != self.earlier_attempts:
            return self.back_off
        return None


@dataclass(frozen=True)
class Unseen:
    """The parts that a check rests on and that are not known well enough, with the reasons."""

    blind: Hold | None = None
    unread_context: str = ""
    unread_templates: str = ""
    unread_requests: str = ""


ALL_SEEN = Unseen()


@dataclass(frozen=True)
class CheckSnapshot:
    """One check."""

    check: HealthCheck | InvalidCheckError
    uid: str
    allowance: Allowance | None
    """The numbers; None for a check that does not parse."""
    targets: Mapping[str, TargetSnapshot] = field(default_factory=dict)
    context: CheckContext = NO_CONTEXT
    """What holds the check as a whole."""
    storm: Storm | None = None
    """Its latest storm."""
    selected: frozenset[str] = frozenset()
    """The names of all its targets."""
    request_changes: tuple[RequestChange, ...] = ()
    """What became of its requests since the snapshot before, also of those that came and went in between."""
    generation: int = 0
    """That of the check, also of one that does not parse."""
    reported_until: datetime | None = None
    """Until when an earlier leader emitted the Events of this check (ADR 47); None: no leader did."""
    unseen: Unseen = ALL_SEEN

    def unreported(self, now: datetime, *, was_held: bool) -> "CheckSnapshot":
        """The same with those targets alone whose Events an earlier leader may not have emitted.

        The API server refuses a second Event within `EVENTS_LAST`, and not later. With `was_held` the status
        says that the earlier leader emitted no Events of targets.
        """
        if self.reported_until is None or was_held:
            return self
        since = min(now - EVENTS_LAST, self.reported_until - REPORTED_WITHIN)
        recent = {name: one for name, one in self.targets.items() if (one.verdict.deadline or now) >= since}
        return replace(self, targets=recent)

    def fact(self, target: str) -> Fact | None:
        """What makes the target of that name unhealthy, expired or not; None where nothing does."""
        seen = self.targets.get(target)
        return seen.verdict.fact if seen else None

    @property
    def is_blocked(self) -> bool:
        """Whether the threshold holds a target back now."""
        return self.allowance is not None and not self.allowance.allowed and bool(self.expired)

    @property
    def is_held_by_storm(self) -> bool:
        """Whether a storm alone holds a target back now: the threshold holds again."""
        is_allowed = self.allowance is not None and self.allowance.allowed
        return is_allowed and self.storm is not None and self.storm.is_active and bool(self.expired)

    @property
    def expired(self) -> tuple[TargetSnapshot, ...]:
        """The targets whose deadline is over, by name."""
        return tuple(
            target for _, target in sorted(self.targets.items()) if target.verdict.health is Health.EXPIRED
        )
