"""`paramedic history`: the past incidents of a node or Machine, or of all of them for an audit.

docs/cli-json.md documents the fields of the JSON. The table has one line for each incident.
The functions that read raise RPCError if Temporal cannot be asked.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.document import IncidentDocument, incident_document
from cli.incidents.listing import OfCheck, OfCluster
from cli.incidents.names import object_name
from cli.incidents.state_queries import AT_ONCE, StateQueries
from cli.incidents.table import fitted_table
from cli.incidents.visibility import Filter, ended_since, open_incidents
from cli.shared.ages import short
from cli.shared.connection import command_line, retention_of, temporal
from cli.shared.errors import carry_out
from cli.shared.known_clusters import unknown_cluster
from cli.shared.options import LONGEST_LOOK_BACK, OutputFormat, look_back, printed_as
from cli.shared.terminal import console, plain, print_json, print_trimmed
from health.model.moves import Phase
from objects.frozen import Frozen


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
        OutputFormat,
        printed_as(
            OutputFormat.TABLE,
            OutputFormat.JSON,
            OutputFormat.JSONL,
            help_text="How to print; jsonl exports ended incidents, one in each line.",
        ),
    ] = OutputFormat.TABLE,
) -> None:
    """List the past incidents of a node or Machine.

    Each with its outcome, and the time in each phase.
    """
    if name is None and output is not OutputFormat.JSONL:
        raise typer.BadParameter("is missing; only -o jsonl lists all nodes and Machines", param_hint="NAME")
    wanted = Filter(check=check, target=name, cluster=cluster)
    if output is OutputFormat.JSONL:
        carry_out(_export(context, wanted, since))
        return
    found, what_is_kept, unknown = carry_out(_read(context, wanted, since))
    if output is OutputFormat.JSON:
        print_json(
            HistoryView(
                since=what_is_kept.since, removed_before=what_is_kept.removed_before, incidents=tuple(found)
            )
        )
    elif found:
        out = console()
        print_trimmed(fitted_table([past_row(document) for document in found], out.width), out)
    nothing = "" if found else wanted.words
    sentences = (f"{sums(found)}{nothing}", what_is_kept.words, unknown)
    typer.echo(plain("; ".join(filter(None, sentences))), err=True)


class HistoryView(Frozen):
    """The JSON that `paramedic history -o json` prints."""

    since: datetime
    removed_before: datetime | None
    """Temporal has removed the incidents that ended earlier; null: unknown."""
    incidents: tuple[IncidentDocument, ...]


async def _read(
    context: typer.Context, wanted: Filter, since: timedelta
) -> tuple[list[IncidentDocument], "Kept", str | None]:
    """The incidents, what Temporal keeps, and a sentence if the cluster is unknown."""
    async with temporal(context) as client:
        what_is_kept = await kept(client, since)
        read = past_incidents(client, wanted, what_is_kept.since, command_line(context), with_open=True)
        documents = [document async for document in read]
        unknown = None if documents else await unknown_cluster(client, wanted.cluster)
        return documents, what_is_kept, unknown


async def _export(context: typer.Context, wanted: Filter, since: timedelta) -> None:
    """Print each ended incident as soon as it is read, so that an audit of months needs little memory."""
    count, incomplete = 0, 0
    async with temporal(context) as client:
        what_is_kept = await kept(client, since)
        read = past_incidents(client, wanted, what_is_kept.since, command_line(context), with_open=False)
        async for document in read:
            typer.echo(document.model_dump_json())
            count, incomplete = count + 1, incomplete + (document.problem is not None)
    ended = f"{count} ended incident{'' if count == 1 else 's'}{wanted.words}"
    lacks = f"; {incomplete} incomplete, see `problem`" if incomplete else ""
    typer.echo(plain(f"{ended}{lacks}; {what_is_kept.words}"), err=True)


async def past_incidents(
    client: Client, wanted: Filter, since: datetime, command: str, *, with_open: bool
) -> AsyncIterator[IncidentDocument]:
    """The incidents that ended since then, oldest first, read a few at a time; the open ones come last."""
    ended = sorted(await ended_since(client, wanted, since), key=lambda summary: summary.started)
    found = [*ended, *(await open_incidents(client, wanted) if with_open else [])]
    queries = StateQueries(client)
    for first in range(0, len(found), AT_ONCE):
        for summary in await queries.all(found[first : first + AT_ONCE]):
            yield incident_document(summary, datetime.now(UTC), command=command)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Which ended incidents Temporal still has, and which of them were asked for."""

    namespace: str
    since: datetime
    """Incidents that ended earlier were not asked for."""
    retention: timedelta | None
    """None: unknown."""
    now: datetime

    @property
    def removed_before(self) -> datetime | None:
        """Incidents that ended earlier are removed; None: unknown."""
        return None if self.retention is None else self.now - self.retention

    @property
    def words(self) -> str:
        """Which incidents the list lacks, and why."""
        removed = self.removed_before
        if self.retention is None or removed is None:
            return f"the retention of the namespace {self.namespace} is unknown"
        if removed < self.since:
            return f"incidents that ended before {self.since:%Y-%m-%d %H:%MZ} are not listed, see --since"
        keeps = f"the namespace {self.namespace} keeps ended incidents for {short(self.retention)}"
        return f"{keeps}, so those that ended before {removed:%Y-%m-%d %H:%MZ} are removed"


async def kept(client: Client, since: timedelta) -> Kept:
    """The limits of a list of the incidents that ended within `since`."""
    now = datetime.now(UTC)
    try:
        retention = await retention_of(client)
    except RPCError as error:
        if error.status is not RPCStatusCode.PERMISSION_DENIED:
            raise
        retention = None
    return Kept(namespace=client.namespace, since=now - since, retention=retention, now=now)


_REMEDIATION = (Phase.ACTING, Phase.REMEDIATING, Phase.EXHAUSTED)
"""The phases in which a step is taken, or was."""


def past_row(document: IncidentDocument) -> dict[str, Text]:
    """The cells of one incident, by the names of their columns."""
    requests, remediated = document.request_records or (), _time_in(document, *_REMEDIATION)
    cells = {
        "STARTED": f"{document.started_at:%Y-%m-%d %H:%MZ}",
        "CHECK": document.check.name,
        "ENDED AS": _ended_as(document),
        "TOOK": short(timedelta(seconds=document.lasted_seconds)),
        "WAITED": _words(_time_in(document, Phase.WAITING)),
        "HELD": _words(_time_in(document, Phase.HELD, Phase.LEFT_ALONE)),
        "STEPS": f"{len(requests)} in {_words(remediated)}" if requests or remediated else "-",
        "ORDERS": str(len(document.orders or ()) or "-"),
    }
    return {name: Text(cell) for name, cell in cells.items()}


def _time_in(document: IncidentDocument, *phases: Phase) -> timedelta | None:
    """The time in these phases together; None: unknown."""
    if not document.phases:
        return None
    return timedelta(seconds=sum(one.seconds for one in document.phases if one.phase in phases))


def _words(time: timedelta | None) -> str:
    if time is None:
        return "?"
    return short(time) if time >= timedelta(seconds=1) else "-"


def _ended_as(document: IncidentDocument) -> str:
    """Its outcome; the phase while it is open, else the status of its workflow."""
    if document.is_open:
        return str(document.phase or "open")
    return str(document.outcome or document.status)


def sums(documents: Sequence[IncidentDocument]) -> str:
    """The number of incidents by outcome: "3 incidents: 2 Remediated, 1 Recovered"."""
    if not documents:
        return "no incidents"
    counted = Counter(map(_ended_as, documents))
    parts = ", ".join(f"{number} {name}" for name, number in counted.most_common())
    unknown = sum(document.problem is not None for document in documents)
    incomplete = f"; {unknown} incomplete, see `problem` in -o json" if unknown else ""
    return f"{len(documents)} incident{'' if len(documents) == 1 else 's'}: {parts}{incomplete}"
