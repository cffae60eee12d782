"""`paramedic history`: the past incidents of a node or Machine, or of all of them for an audit.

docs/cli-json.md documents the fields of the JSON. The table has one line for each incident.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self

import typer
from rich.table import Table
from rich.text import Text

from cli.incidents.incident_record import REMEDIATION, IncidentRecord, Kept, kept, past_incidents
from cli.incidents.listing import OfCheck, OfCluster
from cli.incidents.names import object_name
from cli.incidents.table import GAP
from cli.incidents.view import IncidentRunView, OrderView, run_fields
from cli.incidents.visibility import Filter
from cli.shared.ages import short
from cli.shared.connection import temporal
from cli.shared.errors import carry_out
from cli.shared.known_clusters import unknown_cluster
from cli.shared.options import LONGEST_LOOK_BACK, look_back, printed_as
from cli.shared.terminal import console, plain, print_json, print_trimmed
from health.model.evidence import EvidenceRecord
from health.model.moves import Outcome, Phase
from health.model.request_record import RequestRecord
from health.model.shadow_record import ShadowRecord
from health.model.timeline import PhaseTime, TimelineEntry
from objects.frozen import Frozen


class HistoryOutput(StrEnum):
    """How past incidents are printed: for people, as one JSON document, or as one JSON document a line."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


def history(  # noqa: PLR0913  typer reads one option a parameter
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            parser=object_name,
            metavar="[NAME]",
            help="A node or Machine: NAME, KIND/NAME, NAMESPACE/NAME. Optional with -o jsonl.",
        ),
    ] = None,
    *,
    check: OfCheck = None,
    cluster: OfCluster = None,
    since: Annotated[
        timedelta,
        look_back("all that Temporal keeps", "How far back to list ended incidents: 90d, 12h."),
    ] = LONGEST_LOOK_BACK,
    output: Annotated[
        HistoryOutput,
        printed_as(HistoryOutput, "How to print; jsonl exports ended incidents, one in each line."),
    ] = HistoryOutput.TABLE,
) -> None:
    """List the past incidents of a node or Machine: how each ended, and how long each phase took."""
    if name is None and output is not HistoryOutput.JSONL:
        raise typer.BadParameter("is missing; only -o jsonl lists all nodes and Machines", param_hint="NAME")
    wanted = Filter(check=check or "", target=name or "", cluster=cluster or "")
    if output is HistoryOutput.JSONL:
        carry_out(_export(context, wanted, since))
        return
    found, what_is_kept, unknown = carry_out(_read(context, wanted, since))
    if output is HistoryOutput.JSON:
        print_json(HistoryView.of(found, what_is_kept))
    elif found:
        out = console()
        print_trimmed(past_table(found, out.width), out)
    nothing = "" if found else wanted.words
    sentences = (f"{sums(found)}{nothing}", what_is_kept.words, unknown)
    typer.echo(plain("; ".join(filter(None, sentences))), err=True)


async def _read(
    context: typer.Context, wanted: Filter, since: timedelta
) -> tuple[list[IncidentRecord], Kept, str]:
    """The incidents, what Temporal keeps, and a sentence if the cluster is unknown."""
    async with temporal(context) as client:
        what_is_kept = await kept(client, since)
        read = past_incidents(client, wanted, what_is_kept.since, with_open=True)
        records = [record async for batch in read for record in batch]
        unknown = "" if records else await unknown_cluster(client, wanted.cluster)
        return records, what_is_kept, unknown


async def _export(context: typer.Context, wanted: Filter, since: timedelta) -> None:
    """Print each ended incident as soon as it is read, so that an audit of months needs little memory."""
    count, incomplete = 0, 0
    async with temporal(context) as client:
        what_is_kept = await kept(client, since)
        async for batch in past_incidents(client, wanted, what_is_kept.since, with_open=False):
            for record in batch:
                typer.echo(IncidentRecordView.of(record).model_dump_json())
                count, incomplete = count + 1, incomplete + bool(record.summary.problem)
    ended = f"{count} ended incident{'' if count == 1 else 's'}{wanted.words}"
    lacks = f"; {incomplete} incomplete, see `problem`" if incomplete else ""
    typer.echo(plain(f"{ended}{lacks}; {what_is_kept.words}"), err=True)


class IncidentRecordView(IncidentRunView):
    """One incident with its phases, requests, orders and history."""

    outcome: Outcome | None
    reason: str
    problem: str
    started_at: datetime
    closed_at: datetime | None
    lasted_seconds: float
    attempts: int
    phases: tuple[PhaseTime, ...]
    requests: tuple[RequestRecord, ...]
    deleted_at: datetime | None
    orders: tuple[OrderView, ...]
    shadow: ShadowRecord | None
    evidence: EvidenceRecord | None
    history: tuple[TimelineEntry, ...]
    history_left_out: int

    @classmethod
    def of(cls, past: IncidentRecord) -> Self:
        summary, result = past.summary, past.summary.result
        memory = summary.state.memory if summary.state else None
        return cls(
            **run_fields(summary),
            outcome=summary.outcome,
            reason=summary.words,
            problem=summary.problem,
            started_at=past.began,
            closed_at=summary.closed,
            lasted_seconds=past.lasted.total_seconds(),
            attempts=result.attempts if result else memory.attempt if memory else 0,
            phases=past.phases,
            requests=past.requests,
            deleted_at=result.deleted if result else None,
            orders=tuple(OrderView.of(order, past.now) for order in summary.orders),
            shadow=summary.shadow,
            evidence=summary.evidence,
            history=summary.timeline.entries,
            history_left_out=summary.timeline.left_out,
        )


class HistoryView(Frozen):
    """The JSON that `paramedic history -o json` prints."""

    since: datetime
    removed_before: datetime | None
    """Temporal has removed the incidents that ended earlier; null: unknown."""
    incidents: tuple[IncidentRecordView, ...]

    @classmethod
    def of(cls, incidents: list[IncidentRecord], kept: Kept) -> Self:
        return cls(
            since=kept.since,
            removed_before=kept.removed_before,
            incidents=tuple(map(IncidentRecordView.of, incidents)),
        )


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
    unknown = sum(bool(incident.summary.problem) for incident in incidents)
    incomplete = f"; {unknown} incomplete, see `problem` in -o json" if unknown else ""
    return f"{len(incidents)} incident{'' if len(incidents) == 1 else 's'}: {parts}{incomplete}"
