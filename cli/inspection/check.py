"""One check as the leader sees it, with the incidents that ended, as Temporal stores them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from statistics import median

from temporalio.service import RPCError

from cli.incidents.state_queries import StateQueries
from cli.incidents.visibility import Filter, IncidentSummary, ended_since
from cli.inspection.explanation import QUESTIONS, dated, message, title
from cli.shared.ages import short
from cli.shared.connection import any_namespace
from cli.shared.leader import ask
from cli.shared.options import ClusterChoice
from cli.shared.terminal import Line, error_sentence, listed
from health.model.moves import Outcome
from objects.frozen import Frozen
from workflows.inspection_contracts import ANSWERED_WITHIN, CHECK, CheckAnswer, NameInput, TargetAnswer


class EndedIncidents(Frozen):
    """The ended incidents of a check within a time."""

    since: datetime
    count: int
    by_outcome: dict[str, int]
    """The number of incidents by outcome; "Unknown" for a terminated one."""
    recovery_seconds_median: float | None
    """Of remediated incidents: the time from the failure to the recovery; null without any."""
    recovery_seconds_longest: float | None

    @classmethod
    def of(cls, summaries: Sequence[IncidentSummary], since: datetime) -> "EndedIncidents":
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


class CheckView(CheckAnswer):
    """The answer of the leader, with the incidents that ended; the fields are its JSON."""

    outcomes: EndedIncidents | None = None
    """None: Temporal did not list them, see `problem_of_outcomes`."""
    problem_of_outcomes: str | None = None


async def read_check(choice: ClusterChoice, name: str, since: timedelta, shown: str | None) -> CheckView:
    """The check of that name, with the incidents that ended within `since`.

    Raises:
        CommandError: no check or several have the name, or no leader answers.

    """
    answer = await ask(choice, CHECK, NameInput(name=name), CheckAnswer, shown)
    begins, outcomes, problem = answer.at - since, None, None
    async with any_namespace(choice.context) as client:
        try:
            wanted = Filter(check=answer.check, cluster=answer.cluster)
            found = await ended_since(client, wanted, begins)
            ended = await StateQueries(client).all(found, within=ANSWERED_WITHIN)
            outcomes = EndedIncidents.of(ended, begins)
        except RPCError as error:
            problem = error_sentence(error)
    return CheckView(**dict(answer), outcomes=outcomes, problem_of_outcomes=problem)


def check_lines(view: CheckView) -> Iterator[Line]:
    """The numbers first, then the targets by decision and reason."""
    yield "Check", f"{view.check}{', in shadow' if view.is_shadow else ''}"
    if view.problem:
        yield "Invalid", f"{view.problem}; nothing new is done until that is corrected"
    yield "Cluster", view.cluster
    if not view.problem:
        yield "Targets", f"{view.selected} selected, {view.unhealthy} unhealthy"
        yield "Threshold", view.threshold.words if view.threshold else "unknown"
        yield "Check held", "; ".join(dated(hold.words, view.at) for hold in view.holds) or "no"
    if view.has_storm:
        yield "Storm", "active"
    yield from _decided(view.decisions, view.at)
    if view.left_out:
        yield "", f"{view.left_out} more"
    claims = [(each.target, each.claimed.identity) for each in view.decisions if each.claimed]
    if claims:
        yield "Claimed", listed(f"{target} by {person or 'a person'}" for target, person in claims)
    requests = [request for decision in view.decisions for request in decision.requests]
    yield "Requests", f"{len(requests)}: {listed(requests)}" if requests else "none"
    if (ended := view.outcomes) is None:
        return
    counted = ", ".join(f"{count} {outcome}" for outcome, count in ended.by_outcome.items())
    yield "Ended", f"{ended.count} since {ended.since:%Y-%m-%d %H:%M:%SZ}{counted and f': {counted}'}"
    if ended.recovery_seconds_median is not None and ended.recovery_seconds_longest is not None:
        times = ended.recovery_seconds_median, ended.recovery_seconds_longest
        middle, longest = (short(timedelta(seconds=seconds)) for seconds in times)
        yield "Recovery", f"median {middle}, longest {longest}, from the failure to the end of the incident"


def _decided(decisions: Sequence[TargetAnswer], now: datetime) -> Iterator[Line]:
    """One line for each decision and reason, with the number of targets and their names."""
    groups: defaultdict[tuple[str, str, str], list[TargetAnswer]] = defaultdict(list)
    for decision in decisions:
        order = decision.ordered
        groups[title(decision), order.identity if order else "", order.reason if order else ""].append(
            decision
        )
    for number, ((words, *_), group) in enumerate(sorted(groups.items())):
        targets = [decision.target for decision in group]
        yield ("" if number else "Unhealthy"), f"{len(targets)} {words}: {listed(targets)}"
        first = group[0]
        if first.ordered is not None or (first.hold is not None and first.hold.reason in QUESTIONS):
            yield "", f"  {message(first, now)}"
