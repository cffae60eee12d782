"""CheckSnapshot: the input for status and Events of one check, at one moment.

`CheckHolds` has the holds of the check as a whole, with the way in which its API reports each.
`health/gate/check_holds.py` has the table of the holds. Answers to incidents, status, Events and storms read
its result from here, so that they name no hold of the table.

`TargetReport` is what a kind of check writes into the status of a target, if its users expect that. A report
states and does not ask: asking the owner of a target for something is an act. So reports are written for all
targets, healthy or not, and during any hold (ADR 22).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol, Self

from health.check.health_check import HealthCheck, ParsedCheck
from health.check.storm import Storm
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.model.observation import Hold, HoldReason
from health.model.request_snapshot import RequestChange, RequestSnapshot
from health.model.verdict import Fact, Health, Verdict
from objects.event import Severity


@dataclass(frozen=True)
class HoldReport:
    """How a hold is reported besides the status, which names the first hold of a check (rule 55)."""

    event: Severity | None = Severity.WARNING
    """The type of its Event; None: it has no Event, or its kind of check has one of its own for it."""
    is_brief: bool = False
    """True for a hold that is likely to end soon: targets keep their Events, or they would be repeated."""
    prevents_storms: bool = True
    """True if no storm begins meanwhile, because the hold keeps back the targets without the threshold."""
    hides_targets: bool = False
    """True if the targets are unknown meanwhile, so that numbers in the status stay."""


ORDINARY_REPORT = HoldReport()


@dataclass(frozen=True)
class CheckHold:
    """One hold of a check as a whole."""

    hold: Hold
    report: HoldReport
    version: str = ""
    """Distinguishes it from an earlier hold with the same words."""


@dataclass(frozen=True)
class CheckHolds:
    """All holds of a check as a whole, in the order of the table; the default is none."""

    found: tuple[CheckHold, ...] = ()
    problem: CheckProblem | None = None
    """The problem that disables the check."""
    is_fully_paused: bool = False
    """True if the pause also stops clean-up and marks, so that nothing is written (rule 7)."""
    reported_at: datetime | None = None
    """When a hold that is not reported yet is reported; None: all are."""

    @property
    def first(self) -> Hold | None:
        """The hold that incidents are answered and the status names."""
        return self.found[0].hold if self.found else None

    @property
    def prevent_storms(self) -> bool:
        return any(found.report.prevents_storms for found in self.found)

    def of(self, reason: HoldReason) -> Hold | None:
        return next((found.hold for found in self.found if found.hold.reason is reason), None)

    def events(self) -> Iterator[tuple[CheckHold, Severity]]:
        """The holds that have an Event, with its type."""
        return ((found, found.report.event) for found in self.found if found.report.event is not None)

    def shown(self, hold: Hold) -> CheckProblem:
        """Reason and message of a hold in conditions, which show a problem by its own reason."""
        if hold.reason is HoldReason.DISABLED and self.problem is not None:
            return self.problem
        return CheckProblem(hold.reason, hold.message)


NO_HOLDS = CheckHolds()


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
    owner_sign: str | None = None
    """The sign of the owner whose work holds it; None: no owner's work does."""
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

    def new_own_hold(self, before: "TargetSnapshot | None", *, besides: Collection[str]) -> Hold | None:
        """The hold of this target alone, for another reason than these and than `before`.

        It is the first of the detector's own hold and the finding of the act.
        """
        hold, earlier = (
            next((held for held in holds if held is not None and held.reason not in besides), None)
            for holds in ((self.hold, self.found), (before.hold, before.found) if before else ())
        )
        is_known = hold is not None and earlier is not None and hold.reason == earlier.reason
        return None if is_known else hold

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

    parsed: ParsedCheck
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

    @property
    def check(self) -> HealthCheck | None:
        """The check; None if it cannot be read."""
        return self.parsed.check

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
        """True if targets have no Events: all are held (rule 6), or the check cannot be read."""
        return self.allowance is None or any(not held.report.is_brief for held in self.holds.found)

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


@dataclass(frozen=True, kw_only=True)
class TargetFindings:
    """The facts for a report besides check and target."""

    now: datetime
    context: ClusterContext
    problem: CheckProblem | None = None
    """Why the check as a whole does not work; None for a target that has its request (CAPI B.2.5)."""
    request_error: str | None = None
    """Why the last creation of a request for it failed; None: it did not fail."""
    is_request_unreported: bool = False
    """Whether a request may have been refused before this detector became leader."""


class TargetReport(Protocol):
    """The report on one target now, which may be empty."""

    @property
    def is_unhealthy(self) -> bool:
        """True if the report says that the check of the target failed."""

    def merged_with(self, other: Any) -> Self:  # noqa: ANN401  of its own type
        """The report on a target that two checks select."""


@dataclass(frozen=True)
class TargetReports:
    """How a kind makes and writes reports, with the kind's own types of checks, targets and reports."""

    wanted: Callable[[Any, Any, TargetFindings], TargetReport]
    next_change: Callable[[Any, Any, TargetFindings], datetime | None]
    """When the report changes next by the passing of time alone."""
    is_stored: Callable[[Any, Any], bool]
    """Whether a target, as last seen, already has the content of a report."""
    patch: Callable[[Any, Mapping[str, Any], datetime], dict[str, Any]]
    """The merge patch that writes the report into an object; empty if nothing would change."""
