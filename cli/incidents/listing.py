"""`paramedic list`: shows the incidents and their phases."""

import sys
from typing import Annotated

import typer

from cli.incidents.document import IncidentDocument
from cli.incidents.names import object_name
from cli.incidents.table import IncidentList, Wanted, fitted_table, headline, in_order, incident_rows, look
from cli.incidents.visibility import Filter
from cli.incidents.watching import Page, watch
from cli.shared.connection import command_line, temporal
from cli.shared.errors import carry_out
from cli.shared.options import OutputFormat, at_least, of_cluster, one_of, printed_as, words
from cli.shared.terminal import console, plain, print_json, print_trimmed
from health.model.moves import Phase
from objects.frozen import Frozen

OfCheck = Annotated[
    str | None,
    typer.Option(
        parser=object_name, metavar="NAME", help="Only of this check: NAME, KIND/NAME, NAMESPACE/NAME."
    ),
]
OfTarget = Annotated[
    str | None,
    typer.Option(parser=object_name, metavar="NAME", help="Only of this node or Machine, in the same forms."),
]
OfPhase = Annotated[
    list[Phase] | None,
    typer.Option(
        parser=one_of(Phase),
        metavar=words(Phase),
        help="Only in this phase, may be repeated; unknown phases are shown too.",
    ),
]
OfCluster = Annotated[str | None, of_cluster("Only of this cluster; default: all of the namespace.")]
Limit = Annotated[
    int,
    typer.Option(parser=at_least(1), metavar="NUMBER", help="With --all: the most ended incidents to list."),
]


class IncidentListView(Frozen):
    """The JSON that `paramedic list -o json` prints."""

    incidents: tuple[IncidentDocument, ...]
    has_more: bool


def list_incidents(  # noqa: PLR0913  typer reads one option a parameter
    context: typer.Context,
    *,
    check: OfCheck = None,
    target: OfTarget = None,
    phase: OfPhase = None,
    cluster: OfCluster = None,
    is_all: Annotated[bool, typer.Option("--all", help="List ended incidents too, newest first.")] = False,
    limit: Limit = 100,
    is_shadow: Annotated[
        bool, typer.Option("--shadow", help="Only incidents that are, or were, in shadow.")
    ] = False,
    output: Annotated[
        OutputFormat, printed_as(OutputFormat.TABLE, OutputFormat.WIDE, OutputFormat.JSON)
    ] = OutputFormat.TABLE,
    is_live: Annotated[bool, typer.Option("--watch", help="Keep running and show every change.")] = False,
) -> None:
    """List incidents, the phase of each, and its reason."""
    phases = frozenset(phase or ())
    closed = limit if is_all or Phase.ENDED in phases else 0
    wanted = Wanted(Filter(check=check, target=target, cluster=cluster), phases, closed, is_shadow)
    if is_live:
        if output is not OutputFormat.TABLE:
            raise typer.BadParameter(
                f"'{output}' cannot be watched, only the table can", param_hint="--output"
            )
        if not console().is_terminal:
            raise typer.BadParameter("standard output is no terminal", param_hint="--watch")
        raise typer.Exit(carry_out(_watch(context, wanted)))
    listed = carry_out(_list(context, wanted))
    if output is OutputFormat.JSON:
        print_json(IncidentListView(incidents=tuple(listed.documents), has_more=listed.has_more))
    elif listed.documents:
        is_wide = output is OutputFormat.WIDE
        out = console(is_cut=not is_wide)
        rows = incident_rows(in_order(listed.documents), is_wide=is_wide)
        print_trimmed(fitted_table(rows, out.width), out)
    if output is not OutputFormat.JSON or not listed.documents:
        typer.echo(_headline(listed), err=True)


async def _list(context: typer.Context, wanted: Wanted) -> IncidentList:
    async with temporal(context) as client:
        return await look(client, wanted, command_line(context))


async def _watch(context: typer.Context, wanted: Wanted) -> int:
    """Watch with keys, or without a keyboard only redraw. Returns the exit code."""
    command = command_line(context)
    async with temporal(context) as client:

        async def page() -> Page:
            listed = await look(client, wanted, command)
            rows = incident_rows(in_order(listed.documents), is_wide=False)
            return _headline(listed), fitted_table(rows, console().width)

        if not sys.stdin.isatty():
            await watch(page)
        # The terminal library costs every other command 0.3 s of CPU at its start.
        from cli.incidents.live.app import run_live  # noqa: PLC0415

        return await run_live(client, wanted, context.obj, command)


def _headline(listed: IncidentList) -> str:
    if not listed.documents:
        return f"no incidents{plain(listed.nothing or '')}"
    more = "; older ones are left out, see --limit" if listed.has_more else ""
    return f"{headline(listed.documents)}{more}"
