"""Formats past incidents as a table of at most 80 columns, one line each, and their sums. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from rich.table import Table
from rich.text import Text

from cli.incidents.past.incident_record import REMEDIATION, IncidentRecord
from cli.incidents.table import GAP
from cli.shared.ages import short
from health.model.moves import Phase

_LEAST_CHECK = 10
_COLUMNS = ("STARTED", "CHECK", "ENDED AS", "TOOK", "WAITED", "HELD", "STEPS", "ORDERS")


def past_table(incidents: Sequence[IncidentRecord], width: int) -> Table:
    """The incidents in the given order; only the name of the check is cut."""
    rows = [_row(incident) for incident in incidents]
    widths = [max(len(name), *(len(row[place]) for row in rows)) for place, name in enumerate(_COLUMNS)]
    spare = width - sum(widths) - GAP * (len(widths) - 1)
    if spare < 0:
        widths[1] = max(_LEAST_CHECK, widths[1] + spare)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name, wide in zip(_COLUMNS, widths, strict=True):
        table.add_column(name, no_wrap=True, overflow="ellipsis", width=wide)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _row(past: IncidentRecord) -> tuple[str, ...]:
    return (
        f"{past.began:%Y-%m-%d %H:%MZ}",
        past.summary.incident.check.name,
        past.ended_as,
        short(past.lasted),
        _time(past.time_in(Phase.WAITING)),
        _time(past.time_in(Phase.HELD, Phase.LEFT_ALONE)),
        _steps(past),
        _number(len(past.summary.orders)),
    )


def _steps(past: IncidentRecord) -> str:
    """The number of requests and the time of the phases that belong to them; "-" without any."""
    time = past.time_in(*REMEDIATION)
    if not past.requests and not time:
        return "-"
    return f"{len(past.requests)} in {_time(time)}"


def _time(time: timedelta | None) -> str:
    if time is None:
        return "?"
    return short(time) if time >= timedelta(seconds=1) else "-"


def _number(number: int) -> str:
    return str(number) if number else "-"


def sums(incidents: Sequence[IncidentRecord]) -> str:
    """The number of incidents by outcome: "3 incidents: 2 Remediated, 1 Recovered"."""
    if not incidents:
        return "no incidents"
    counted = Counter(incident.ended_as for incident in incidents)
    parts = ", ".join(f"{number} {name}" for name, number in counted.most_common())
    unknown = sum(bool(incident.problem) for incident in incidents)
    incomplete = f"; {unknown} incomplete, see `problem` in -o json" if unknown else ""
    return f"{len(incidents)} incident{'' if len(incidents) == 1 else 's'}: {parts}{incomplete}"
