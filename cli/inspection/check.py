"""HealthCheckView: one check as it stands, for people and as JSON (docs/cli-json.md).

The numbers and decisions are read from the cluster, the ended incidents from Temporal.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Self

from pydantic import Field
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from temporalio.service import RPCError

from cli.incidents.state_queries import StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import Filter, ended_since
from cli.inspection.connecting import (
    no_leader,
    read_memories,
    reading_cluster,
    temporal_trouble,
    unknown_orders,
)
from cli.inspection.decision_view import DecisionView
from cli.inspection.explanation_view import HoldView, ThresholdView
from cli.inspection.targets import listed, named_check
from cli.shared.ages import short
from cli.shared.options import ClusterChoice
from detector.inspection.decisions import TargetDecision, decisions, holds_of_check, incidents
from detector.inspection.inspection import Inspection
from detector.state.check_state import CheckState
from health.model.invalid_check import InvalidCheckError
from health.model.moves import Outcome
from health.model.observation import HoldReason
from health.model.order import OrderRecord
from health.model.references import CheckReference
from objects.frozen import Frozen


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
    is_shadow: bool | None
    """None: by the policy, which is unknown."""
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
    unknown_orders: tuple[str, ...]
    """Why the orders to incidents could not be read; their steps then count as not approved."""
    unknown_policy: str = ""
    """Why the policy that the detector uses is unknown; "": it is known."""
    no_leader: str = ""
    """Why no detector leads, so that nothing is done; "": one leads."""
    temporal_problem: str = Field(default="", exclude=True)
    """Why the ended incidents are unknown; "": they are known, or were not wanted."""

    @classmethod
    def of(  # noqa: PLR0913  each is a part that another source has
        cls,
        inspection: Inspection,
        reference: CheckReference,
        decided: Sequence[TargetDecision],
        outcomes: OutcomesView | None = None,
        *,
        unknown_orders: tuple[str, ...] = (),
        no_leader: str = "",
        temporal_problem: str = "",
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
            is_shadow=inspection.is_shadow(reference),
            selected=len(check_state.selected),
            unhealthy=len(check_state.unhealthy),
            threshold=ThresholdView.of(allowance) if allowance else None,
            holds=tuple(map(HoldView.of, holds_of_check(inspection, reference))),
            storm=_storm(inspection, reference),
            decisions=tuple(DecisionView.of(decision, inspection.state.now()) for decision in decided),
            outcomes=outcomes,
            unknown_orders=unknown_orders,
            unknown_policy=inspection.unknown_policy,
            no_leader=no_leader,
            temporal_problem=temporal_problem,
        )


def _problem(check_state: CheckState) -> str:
    return str(check_state.check) if isinstance(check_state.check, InvalidCheckError) else ""


def _storm(inspection: Inspection, reference: CheckReference) -> str:
    storm = inspection.answers.storms.of(reference)
    return "active" if storm is not None and storm.is_active else ""


async def read_check(choice: ClusterChoice, name: str, since: timedelta) -> HealthCheckView:
    """The check of that name, with the incidents that ended within `since`.

    Raises:
        CommandError: no check or several have the name, or the cluster cannot be read.

    """
    async with reading_cluster(choice) as inspection:
        reference = named_check(inspection, name)
        problem, outcomes = "", None
        try:
            outcomes = await _ended(inspection, reference, since)
        except RPCError as error:
            problem = temporal_trouble(inspection, error)
        memories = await read_memories(inspection, incidents(inspection, reference))
        decided, unknown = list(decisions(inspection, reference, memories)), unknown_orders(memories)
        leader = await no_leader(inspection)
        return HealthCheckView.of(
            inspection,
            reference,
            decided,
            outcomes,
            unknown_orders=unknown,
            no_leader=leader,
            temporal_problem=problem,
        )


async def _ended(inspection: Inspection, reference: CheckReference, since: timedelta) -> OutcomesView:
    begins = inspection.state.now() - since
    wanted = Filter(check=str(reference), cluster=inspection.cluster_state.cluster)
    client = inspection.state.connections.temporal()
    ended = await StateQueries(client).all(await ended_since(client, wanted, begins))
    return OutcomesView.of(ended, begins)


Line = tuple[str, str]
_QUESTIONS = (HoldReason.APPROVAL_REQUIRED, HoldReason.STEP_REJECTED)
"""Holds with times, which differ from target to target: the page has those of the first one."""


def check_page(view: HealthCheckView) -> Table:
    """The numbers first, then the targets by decision and reason."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _lines(view):
        text = value.lstrip()
        table.add_row(label, Padding(Text(text), (0, 0, 0, len(value) - len(text))))
    return table


def _lines(view: HealthCheckView) -> Iterator[Line]:
    yield "Check", f"{view.check}{', in shadow' if view.is_shadow else ''}"
    if view.problem:
        yield "Invalid", f"{view.problem}; nothing new is done until that is corrected"
    yield "Cluster", view.cluster
    if view.no_leader:
        yield "Detector", view.no_leader
    if not view.problem:
        yield "Targets", f"{view.selected} selected, {view.unhealthy} unhealthy"
        yield "Threshold", view.threshold.words if view.threshold else "unknown"
        yield "Check held", "; ".join(map(str, view.holds)) or "no"
    if view.storm:
        yield "Storm", view.storm
    yield from _decided(view.decisions)
    if claims := [
        _claim(decision.target, decision.claimed) for decision in view.decisions if decision.claimed
    ]:
        yield "Claimed", listed(claims)
    requests = [request for decision in view.decisions for request in decision.requests]
    yield "Requests", f"{len(requests)}: {listed(requests)}" if requests else "none"
    if view.outcomes is not None:
        yield from _outcomes(view.outcomes)


def _decided(decisions: Sequence[DecisionView]) -> Iterator[Line]:
    """One line for each decision and reason, with the number of targets and their names."""
    groups: defaultdict[tuple[str, str, str], list[DecisionView]] = defaultdict(list)
    for decision in decisions:
        order = decision.ordered
        groups[decision.title, order.identity if order else "", order.reason if order else ""].append(
            decision
        )
    for number, ((title, *_), group) in enumerate(sorted(groups.items())):
        targets = [decision.target for decision in group]
        yield ("" if number else "Unhealthy"), f"{len(targets)} {title}: {listed(targets)}"
        if group[0].ordered is not None or group[0].reason in _QUESTIONS:
            yield "", f"  {group[0].message}"


def _claim(target: str, claim: OrderRecord) -> str:
    return f"{target} by {claim.identity or 'a person'}"


def _outcomes(outcomes: OutcomesView) -> Iterator[Line]:
    counted = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.by_outcome.items())
    yield (
        "Ended",
        f"{outcomes.count} since {outcomes.since:%Y-%m-%d %H:%M:%SZ}{f': {counted}' if counted else ''}",
    )
    if outcomes.recovery_seconds_median is not None and outcomes.recovery_seconds_longest is not None:
        middle, longest = (
            short(timedelta(seconds=seconds))
            for seconds in (outcomes.recovery_seconds_median, outcomes.recovery_seconds_longest)
        )
        yield "Recovery", f"median {middle}, longest {longest}, from the failure to the end of the incident"
