"""IncidentTable: incidents for people, one line each; `wide` adds columns."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from cli.ages import short
from cli.console import phase_text
from cli.incident_sight import IncidentSight
from health.moves import Phase

_CUT = ("TARGET", "CHECK", "DETAILS")
"""Columns that give way where a terminal is narrow; a number or a phase that is cut says nothing."""


def incident_table(sights: Sequence[IncidentSight], now: datetime, *, is_wide: bool) -> Table:
    """A table of `sights` at `now`; the cluster has a column where there is more than one."""
    has_cluster = is_wide or len({sight.incident.cluster for sight in sights}) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in _columns(has_cluster=has_cluster, is_wide=is_wide):
        table.add_column(name, no_wrap=name not in _CUT, overflow="ellipsis")
    for sight in sorted(sights, key=_order):
        table.add_row(*_row(sight, now, has_cluster=has_cluster, is_wide=is_wide))
    return table


def summary(sights: Sequence[IncidentSight]) -> str:
    """How many there are, and in which phases: "3 incidents: 2 Held, 1 unknown"."""
    counted = Counter(sight.phase for sight in sights)
    parts = ", ".join(f"{counted[phase]} {phase or 'unknown'}" for phase in (*Phase, None) if counted[phase])
    return f"{len(sights)} incident{'' if len(sights) == 1 else 's'}: {parts}"


def _columns(*, has_cluster: bool, is_wide: bool) -> list[str]:
    wide = ["REQUESTS", "WORKFLOW"] if is_wide else []
    return [
        *(["CLUSTER"] if has_cluster else []),
        "TARGET",
        "CHECK",
        "PHASE",
        "AGE",
        "NEXT",
        *wide,
        "DETAILS",
    ]


def _row(sight: IncidentSight, now: datetime, *, has_cluster: bool, is_wide: bool) -> list[str | Text]:
    incident, next_ = sight.incident, sight.goes_on_in(now)
    requests = sight.state.requests if sight.state else ()
    wide = [", ".join(map(str, requests)) or "-", incident.workflow_id] if is_wide else []
    return [
        *([incident.cluster] if has_cluster else []),
        _cut(incident.target.name),
        _cut(incident.check.name),
        phase_text(sight.phase, is_held=sight.state is not None and sight.state.memory.held),
        short(now - sight.started),
        "-" if next_ is None else short(next_),
        *wide,
        _cut(" ".join(sight.details.split())),
    ]


def _cut(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


def _order(sight: IncidentSight) -> tuple[object, ...]:
    """By cluster, check and name, node-2 before node-10; the newest of a target first."""
    incident = sight.incident
    parts = [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", incident.target.name)
    ]
    return incident.cluster, str(incident.check), parts, -sight.started.timestamp()
