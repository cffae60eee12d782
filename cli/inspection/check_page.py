"""Renders one check for people: the numbers first, then the targets by decision and reason."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta

from rich.table import Table
from rich.text import Text

from cli.inspection.check_view import DecisionView, HealthCheckView, OutcomesView
from cli.shared.ages import short
from detector.inspection.decisions import Decided

MOST_NAMED = 10
"""The targets that are named for one reason; the JSON has all."""
Line = tuple[str, str]


def check_page(view: HealthCheckView) -> Table:
    """A table with a label and a value in each row."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _lines(view):
        table.add_row(label, Text(value))
    return table


def _lines(view: HealthCheckView) -> Iterator[Line]:
    yield "Check", f"{view.check}{', in shadow' if view.is_shadow else ''}"
    yield "Cluster", view.cluster
    if view.problem:
        yield "Invalid", view.problem
    yield "Targets", f"{view.selected} selected, {view.unhealthy} unhealthy"
    yield "Threshold", view.threshold.words if view.threshold else "unknown"
    yield "Held", "; ".join(map(str, view.holds)) or "no"
    if view.storm:
        yield "Storm", view.storm
    yield from _decided(view.decisions)
    requests = [request for decision in view.decisions for request in decision.requests]
    yield "Requests", f"{len(requests)} in flight{_named(requests)}"
    if view.outcomes is not None:
        yield from _outcomes(view.outcomes)


def _decided(decisions: Sequence[DecisionView]) -> Iterator[Line]:
    """One line for each decision and reason, with the number of targets and their names."""
    groups: defaultdict[tuple[Decided, str], list[str]] = defaultdict(list)
    for one in decisions:
        groups[one.decided, one.reason].append(one.target)
    for number, ((decided, reason), targets) in enumerate(sorted(groups.items())):
        by = f" by {reason}" if reason and decided is not Decided.REMEDIATING else ""
        yield ("" if number else "Unhealthy"), f"{len(targets)} {decided}{by}{_named(targets)}"


def _named(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f": {', '.join(names[:MOST_NAMED])}{more}"


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
