"""Formats incidents as a table fitted to the terminal, one line each; `wide` adds columns. Pure.

A cut number or phase is useless, so only names and details shrink, down to a minimum that still distinguishes
them. If that is not enough, columns are dropped: AGE first, then CLAIM, DETAILS (see `paramedic show`), CHECK
and NEXT. Spare width goes to the names first, then to the details, then to CLAIM.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.table import Table
from rich.text import Text

from cli.incidents.state_queries import NO_WORKER
from cli.incidents.summary import IncidentSummary
from cli.shared.ages import short, with_short_times
from cli.shared.terminal import phase_text, plain
from health.model.moves import Phase

GAP = 2
"""Spaces between two columns."""
_LEAST = {"CLUSTER": 8, "TARGET": 16, "CHECK": 10, "CLAIM": 7, "DETAILS": 24}
_LEFT_OUT = ("AGE", "CLAIM", "DETAILS", "CHECK", "NEXT")
_GROW = ("TARGET", "CHECK", "CLUSTER", "DETAILS", "CLAIM")
_CUT = ("CLUSTER", "TARGET", "CHECK", "CLAIM", "DETAILS")
"""The columns that may be cut on a narrow terminal."""


def column_widths(natural: Mapping[str, int], room: int) -> dict[str, int]:
    """The columns that fit, each with its width; `natural` holds the widths without any cut."""
    for shown in _choices(natural):
        widths = {name: min(natural[name], _LEAST.get(name, natural[name])) for name in shown}
        spare = room - sum(widths.values()) - GAP * (len(widths) - 1)
        if spare >= 0:
            break
    for name in (name for name in _GROW if name in widths):
        more = min(max(0, spare), natural[name] - widths[name])
        widths[name], spare = widths[name] + more, spare - more
    return widths


def _choices(natural: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """All columns, then ever fewer of them."""
    for count in range(len(_LEFT_OUT) + 1):
        yield tuple(name for name in natural if name not in _LEFT_OUT[:count])


@dataclass(frozen=True, kw_only=True)
class FittedRows:
    """The rows of a table that fits a width."""

    widths: Mapping[str, int]
    """The width of each column, in order."""
    rows: Sequence[tuple[IncidentSummary, Sequence[Text]]]
    """Each incident with its cells, in the order of the table."""


def fitted_rows(
    summaries: Sequence[IncidentSummary], now: datetime, *, width: int, is_wide: bool
) -> FittedRows:
    """The incidents at `now`; CLUSTER is shown if there are several, and CLAIM if an incident is claimed."""
    has_cluster = is_wide or len({summary.incident.cluster for summary in summaries}) > 1
    is_claimed = is_wide or any(summary.claim for summary in summaries)
    names = _columns(has_cluster=has_cluster, is_claimed=is_claimed, is_wide=is_wide)
    ordered = sorted(summaries, key=_order)
    rows = [_row(summary, now, is_wide=is_wide) for summary in ordered]
    natural = {name: max([len(name), *(row[name].cell_len for row in rows)]) for name in names}
    widths = column_widths(natural, width)
    cells = [[row[name] for name in widths] for row in rows]
    return FittedRows(widths=widths, rows=list(zip(ordered, cells, strict=True)))


def incident_table(
    summaries: Sequence[IncidentSummary], now: datetime, *, width: int, is_wide: bool
) -> Table:
    """The incidents at `now` as a table of rich."""
    fitted = fitted_rows(summaries, now, width=width, is_wide=is_wide)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name, wide in fitted.widths.items():
        table.add_column(name, no_wrap=True, overflow="ellipsis" if name in _CUT else "crop", width=wide)
    for _, cells in fitted.rows:
        table.add_row(*cells)
    return table


def headline(summaries: Sequence[IncidentSummary]) -> str:
    """The number of incidents by phase, "3 incidents: 2 Held, 1 unknown", and clusters that are stopped."""
    counted = Counter(summary.phase for summary in summaries)
    phases = dict.fromkeys((*Phase, *filter(None, counted), None))
    parts = ", ".join(f"{counted[phase]} {phase or 'unknown'}" for phase in phases if counted[phase])
    stopped = dict.fromkeys(
        f"; {summary.incident.cluster} is {' '.join(summary.stopped.split())}"
        for summary in summaries
        if summary.stopped
    )
    counts = f"{len(summaries)} incident{'' if len(summaries) == 1 else 's'}: {parts}"
    return f"{counts}{''.join(stopped)}{_silent(summaries)}"


def _silent(summaries: Sequence[IncidentSummary]) -> str:
    """The advice if no worker answers; "" if one does."""
    silent = sum(summary.problem == NO_WORKER for summary in summaries)
    return f"; {silent} did not answer: see `paramedic doctor`" if silent else ""


def _columns(*, has_cluster: bool, is_claimed: bool, is_wide: bool) -> list[str]:
    wide = ["REQUESTS", "WORKFLOW"] if is_wide else []
    return [
        *(["CLUSTER"] if has_cluster else []),
        "TARGET",
        "CHECK",
        "PHASE",
        "AGE",
        "NEXT",
        *(["CLAIM"] if is_claimed else []),
        *wide,
        "DETAILS",
    ]


def _row(summary: IncidentSummary, now: datetime, *, is_wide: bool) -> dict[str, Text]:
    details = " ".join(summary.brief.split())
    incident, next_ = summary.incident, summary.goes_on_in(now)
    requests = summary.state.requests if summary.state else ()
    return {
        "CLUSTER": Text(incident.cluster),
        "TARGET": Text(incident.target.name),
        "CHECK": Text(incident.check.name),
        "PHASE": phase_text(summary.phase, is_held=summary.is_held),
        "AGE": Text(short(now - summary.started)),
        "NEXT": Text("-" if next_ is None else short(next_)),
        "CLAIM": Text(_claim(summary)),
        "REQUESTS": Text(", ".join(map(str, requests)) or "-"),
        "WORKFLOW": Text(incident.workflow_id),
        "DETAILS": Text(details if is_wide else with_short_times(details, now)),
    }


def _claim(summary: IncidentSummary) -> str:
    """The user of the claim, without the host, or "kubectl" for an annotation; "-" without a claim."""
    if summary.claim is None:
        return "-"
    user, _, _ = plain(summary.claim.identity).partition("@")
    return next(iter(user.split()), "yes")


def _order(summary: IncidentSummary) -> tuple[object, ...]:
    """By cluster, check and natural order of names (node-2 before node-10), newest incident first."""
    incident = summary.incident
    parts = [_natural(part) for part in re.split(r"(\d+)", incident.target.name)]
    return incident.cluster, str(incident.check), parts, -summary.started.timestamp()


def _natural(part: str) -> tuple[int, str]:
    """Sort key: numbers by value, before words; a digit such as "²" counts as a word."""
    return (int(part), "") if part.isdecimal() else (-1, part)
