"""HealthCheckView: one check as it stands, for people and as JSON (docs/cli-json.md)."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from statistics import median
from typing import Self

from cli.incidents.summary import IncidentSummary
from cli.inspection.explanation_view import HoldView, ThresholdView
from detector.inspection.decisions import Decided, TargetDecision, holds_of_check
from detector.inspection.inspection import Inspection
from detector.state.check_state import CheckState
from health.model.invalid_check import InvalidCheckError
from health.model.moves import Outcome
from health.model.references import CheckReference
from objects.frozen import Frozen


class DecisionView(Frozen):
    """The decision about one target, with the reason and its numbers."""

    target: str
    decided: Decided
    reason: str
    """The reason of the hold; "" without one."""
    message: str
    requests: tuple[str, ...]

    @classmethod
    def of(cls, decision: TargetDecision) -> Self:
        seen, hold = decision.observation, decision.hold
        return cls(
            target=str(decision.target),
            decided=decision.decided,
            reason=hold.reason if hold else "",
            message=hold.message if hold else seen.reason,
            requests=tuple(map(str, seen.requests)),
        )


class OutcomesView(Frozen):
    """The ended incidents of a check within a time, as Temporal stores them."""

    since: datetime
    count: int
    by_outcome: dict[str, int]
    """The number of incidents by outcome; "Unknown" for a terminated one."""
    recovery_seconds_median: float | None
    """Of remediated incidents: the time from the failure to the recovery; null without any."""
    recovery_seconds_longest: float | None

    @classmethod
    def of(cls, summaries: Sequence[IncidentSummary], since: datetime) -> Self:
        counted = Counter(str(summary.outcome or "Unknown") for summary in summaries)
        times = [
            summary.lasted(summary.started).total_seconds()
            for summary in summaries
            if summary.outcome is Outcome.REMEDIATED and summary.closed is not None
        ]
        return cls(
            since=since,
            count=len(summaries),
            by_outcome=dict(counted.most_common()),
            recovery_seconds_median=median(times) if times else None,
            recovery_seconds_longest=max(times, default=None),
        )


class HealthCheckView(Frozen):
    """One check at one moment, with the decisions about its targets."""

    check: str
    cluster: str
    at: datetime
    problem: str
    """Why the check is invalid; "" if it is valid."""
    is_shadow: bool
    selected: int
    unhealthy: int
    threshold: ThresholdView | None
    holds: tuple[HoldView, ...]
    """The holds of the check as a whole, in the order of precedence."""
    storm: str
    """Since when its storm is active; "" without one."""
    decisions: tuple[DecisionView, ...]
    outcomes: OutcomesView | None
    """None: Temporal was not asked, or could not be."""
    unknown_approvals: tuple[str, ...]
    """Why the approvals of incidents could not be read; their steps then count as not approved."""

    @classmethod
    def of(
        cls,
        inspection: Inspection,
        reference: CheckReference,
        decided: Sequence[TargetDecision],
        outcomes: OutcomesView | None = None,
        *,
        unknown_approvals: tuple[str, ...] = (),
    ) -> Self:
        """The view of a stored check; `decided` has the decisions about its targets."""
        state = inspection.cluster_state
        check_state = state.checks[reference]
        allowance = state.allowance(reference)
        return cls(
            check=str(reference),
            cluster=state.cluster,
            at=inspection.state.now(),
            problem=_problem(check_state),
            is_shadow=check_state.is_shadow_in(state.cluster_context),
            selected=len(check_state.selected),
            unhealthy=len(check_state.unhealthy),
            threshold=ThresholdView.of(allowance) if allowance else None,
            holds=tuple(map(HoldView.of, holds_of_check(inspection, reference))),
            storm=_storm(inspection, reference),
            decisions=tuple(map(DecisionView.of, decided)),
            outcomes=outcomes,
            unknown_approvals=unknown_approvals,
        )


def _problem(check_state: CheckState) -> str:
    return str(check_state.check) if isinstance(check_state.check, InvalidCheckError) else ""


def _storm(inspection: Inspection, reference: CheckReference) -> str:
    storm = inspection.answers.storms.of(reference)
    return "active" if storm is not None and storm.is_active else ""
