"""`paramedic history`: the past incidents of a node or Machine, or of all of them for an audit."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

import typer

from cli.incidents.listing import OfCheck, OfCluster
from cli.incidents.names import object_name
from cli.incidents.past.incident_record import IncidentRecord
from cli.incidents.past.reading import Kept, kept, past_incidents
from cli.incidents.past.table import past_table, sums
from cli.incidents.past.view import HistoryView, IncidentRecordView
from cli.incidents.visibility import Filter
from cli.shared.connection import temporal
from cli.shared.errors import carry_out
from cli.shared.known_clusters import unknown_cluster
from cli.shared.options import LONGEST_LOOK_BACK, look_back, printed_as
from cli.shared.terminal import console, plain, print_trimmed


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
        typer.echo(HistoryView.of(found, what_is_kept).model_dump_json(indent=2))
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
        found = [one async for some in read for one in some]
        unknown = "" if found else await unknown_cluster(client, wanted.cluster)
        return found, what_is_kept, unknown


async def _export(context: typer.Context, wanted: Filter, since: timedelta) -> None:
    """Print each ended incident as soon as it is read, so that an audit of months needs little memory."""
    count, incomplete = 0, 0
    async with temporal(context) as client:
        what_is_kept = await kept(client, since)
        async for some in past_incidents(client, wanted, what_is_kept.since, with_open=False):
            for one in some:
                typer.echo(IncidentRecordView.of(one).model_dump_json())
                count, incomplete = count + 1, incomplete + bool(one.problem)
    ended = f"{count} ended incident{'' if count == 1 else 's'}{wanted.words}"
    lacks = f"; {incomplete} incomplete, see `problem`" if incomplete else ""
    typer.echo(plain(f"{ended}{lacks}; {what_is_kept.words}"), err=True)
