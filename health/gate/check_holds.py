"""The table of holds of a check as a whole (NHC 2.1/17, rules 6 and 55, ADR 45).

A row has the reasons of its holds, decides by the values of one moment, and says how it is reported. A row
that is added here holds requests, and appears in the status, the Events and the metrics of every kind.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, partial

from health.check.annotated_hold import hold_on_check
from health.check.check_snapshot import ORDINARY_REPORT, CheckHold, CheckHolds, HoldReport
from health.check.health_check import HealthCheck
from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.cluster.upgrade import UpgradePhase, upgrade_hold
from health.model.observation import Hold, HoldReason
from health.model.target import Target
from health.policy.maintenance_windows import closed
from objects.event import Severity
from objects.timestamps import stamp

STALE_ASK_AGAIN_SECONDS = 10.0
PAUSED_WITHIN = timedelta(minutes=1)
"""How soon after its begin an upgrade has paused its checks."""


NOT_YET = "not read completely yet"
SILENT = "without any activity for too long"


@dataclass(frozen=True)
class UnreadSource:
    """A source that was not confirmed for too long, such as the Nodes of a cluster."""

    name: str
    problem: str | None = None
    """The error of its latest request; None if that was accepted, or not sent yet."""
    since: datetime | None = None
    """The latest time at which it was proven true, or else the first error; None before its first request."""

    @property
    def why(self) -> str:
        """Its error, and since when it has not been read."""
        if self.since is None:
            return self.problem or NOT_YET
        return f"{(self.problem or SILENT).rstrip('.')} (since {stamp(self.since)})"

    def failing(self, problem: str, now: datetime) -> "UnreadSource":
        """The same after one more request that failed."""
        return replace(self, problem=problem, since=self.since or now)

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


@dataclass(frozen=True)
class Unseen:
    """The inputs of a check that are unknown or too old, with the reasons."""

    blind: Hold | None = None
    """Why no target can be judged: the state is too old, or a clock is off."""
    unread_context: UnreadSource | None = None
    """Why the cluster context is unknown or too old."""
    unread_templates: UnreadSource | None = None
    """Why it is unknown whether the templates are usable."""
    unread_requests: UnreadSource | None = None
    """Why the existing requests are unknown; then numbers and other holders are unknown too."""


ALL_SEEN = Unseen()


@dataclass(frozen=True, kw_only=True)
class CheckMoment:
    """Everything that may hold a check as a whole, at one moment."""

    check: HealthCheck
    context: ClusterContext
    now: datetime
    kinds: TemplateKinds
    target: Target | None = None
    """The target that is asked about; None: the check as a whole."""
    is_handled: bool | None = None
    """True: the pause for an upgrade has handled it, so only its annotation holds it. False: not yet.

    None: checks like it are not paused for upgrades."""
    unseen: Unseen = ALL_SEEN
    allowance: Allowance | None = None
    """The numbers of its threshold; None: they are not asked about."""
    storm: Hold | None = None

    @cached_property
    def problem(self) -> CheckProblem | None:
        return self.check.problem(self.context, self.kinds)


@dataclass(frozen=True)
class CheckHoldRow:
    """One hold of a check as a whole."""

    reasons: tuple[HoldReason, ...]
    """The reasons that its holds may have."""
    decide: Callable[[CheckMoment], Hold | None]
    report: HoldReport = ORDINARY_REPORT
    version: Callable[[CheckMoment], str] = lambda _: ""
    """Distinguishes a hold from an earlier one with the same words."""

    def found(self, moment: CheckMoment) -> CheckHold | None:
        hold = self.decide(moment)
        return None if hold is None else CheckHold(hold, self.report, self.version(moment))


def check_holds(rows: Iterable[CheckHoldRow], moment: CheckMoment) -> CheckHolds:
    """The holds of a check now, in the order of `rows`."""
    holds = (row.found(moment) for row in rows)
    # The status of a check that is about to be paused is left alone, as it is once it is paused: hundreds of
    # writes at the begin of an upgrade would only delay the pauses. If it is not paused by then, its status
    # says that the upgrade holds it (rule 55).
    upgrade = moment.context.upgrade
    is_unhandled = moment.is_handled is False and upgrade.phase is UpgradePhase.UNDER_WAY
    until = upgrade.since + PAUSED_WITHIN if is_unhandled and upgrade.since is not None else None
    is_awaited = until is not None and moment.now < until
    return CheckHolds(
        tuple(hold for hold in holds if hold is not None),
        moment.problem,
        moment.check.is_fully_paused_in(moment.context) or is_awaited,
        reported_at=until if is_awaited else None,
    )


def stale_cache(unread: UnreadSource | None) -> Hold | None:
    """The hold while a source of verdicts is unread; None if there is none."""
    return _unread(HoldReason.STALE_CACHE, unread, "cannot read ")


def _unread(reason: HoldReason, unread: UnreadSource | None, before: str = "") -> Hold | None:
    if unread is None:
        return None
    return Hold(reason=reason, message=f"{before}{unread}", ask_again_seconds=STALE_ASK_AGAIN_SECONDS)


def _upgrade(moment: CheckMoment) -> Hold | None:
    check, target = moment.check, moment.target
    is_awaited = None if target is None else partial(check.is_awaited, target)
    upgrade = moment.context.upgrade_of(check.managed_cluster, is_awaited)
    return upgrade_hold(upgrade, is_handled=bool(moment.is_handled))


def _outside_windows(moment: CheckMoment) -> Hold | None:
    windows = moment.context.policy.policy.maintenance_windows
    found = closed(windows, moment.check.choices.maintenance_windows, moment.now)
    return None if found is None else found.hold


def _threshold(moment: CheckMoment) -> Hold | None:
    if moment.allowance is None or moment.allowance.allowed:
        return None
    return Hold(reason=HoldReason.THRESHOLD, message=moment.allowance.words)


_UNSEEN = HoldReport(event=None, is_brief=True, prevents_storms=False)
_BY_NUMBERS = HoldReport(event=None, prevents_storms=False)
"""The Events about the numbers of a check are those of its API."""
_ON_THE_POLICY = HoldReport(event=None)
"""The ConfigMap of the policy has the Event."""
_OF_NODES = (
    HoldReason.WORKLOAD_CLUSTER_UNREACHABLE,
    HoldReason.WORKLOAD_CLUSTER_CHANGED,
    HoldReason.NODES_VANISHED,
    HoldReason.CLOCK_SKEW,
)

CHECK_HOLDS = (
    CheckHoldRow(
        (HoldReason.STOPPED,),
        lambda moment: moment.context.stop.hold if moment.context.stop else None,
        version=lambda moment: moment.context.stop.version if moment.context.stop else "",
    ),
    CheckHoldRow(
        (HoldReason.STALE_CACHE, HoldReason.CLOCK_SKEW), lambda moment: moment.unseen.blind, _UNSEEN
    ),
    CheckHoldRow(
        (HoldReason.CLUSTER_CONTEXT_UNREAD,),
        lambda moment: _unread(HoldReason.CLUSTER_CONTEXT_UNREAD, moment.unseen.unread_context),
        _UNSEEN,
    ),
    CheckHoldRow((HoldReason.POLICY_UNKNOWN,), lambda moment: moment.context.policy.hold, _ON_THE_POLICY),
    CheckHoldRow((HoldReason.DISABLED,), lambda moment: moment.problem.hold if moment.problem else None),
    CheckHoldRow(
        (HoldReason.TEMPLATES_UNREAD,),
        lambda moment: _unread(HoldReason.TEMPLATES_UNREAD, moment.unseen.unread_templates),
        _UNSEEN,
    ),
    CheckHoldRow((HoldReason.UPGRADING, HoldReason.UPGRADE_UNKNOWN), _upgrade),
    CheckHoldRow(
        (HoldReason.HOLD_ANNOTATION,),
        lambda moment: hold_on_check(moment.check, moment.context.policy.policy, moment.now),
        HoldReport(Severity.NORMAL),
    ),
    CheckHoldRow(
        (HoldReason.PAUSED,),
        lambda moment: moment.check.hold_in(moment.context),
        HoldReport(Severity.NORMAL),
        version=lambda moment: str(moment.check.generation),
    ),
    CheckHoldRow((HoldReason.MAINTENANCE_WINDOW,), _outside_windows, HoldReport(Severity.NORMAL)),
    CheckHoldRow(
        _OF_NODES,
        lambda moment: moment.context.unreachable_hold(moment.check.node_cluster(moment.context)),
        HoldReport(hides_targets=True),
    ),
    CheckHoldRow(
        (HoldReason.SUSPECTED_OUTAGE,),
        lambda moment: moment.context.outages.hold(moment.check.node_cluster(moment.context)),
    ),
    CheckHoldRow(
        (HoldReason.REQUESTS_UNREAD,),
        lambda moment: _unread(HoldReason.REQUESTS_UNREAD, moment.unseen.unread_requests),
        _UNSEEN,
    ),
    CheckHoldRow((HoldReason.THRESHOLD,), _threshold, _BY_NUMBERS),
    CheckHoldRow((HoldReason.STORM,), lambda moment: moment.storm, _BY_NUMBERS),
)
"""In the order of precedence: incidents are answered with the first hold, and the status names it."""


def _reasons(*, is_brief: bool) -> frozenset[HoldReason]:
    rows = (row for row in CHECK_HOLDS if row.report.is_brief is is_brief)
    return frozenset(reason for row in rows for reason in row.reasons)


BRIEF_REASONS = _reasons(is_brief=True) - _reasons(is_brief=False)
"""The reasons in a stored status under which targets kept their Events."""
