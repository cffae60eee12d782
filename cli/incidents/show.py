"""`paramedic show`: prints all data of one incident."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer
from temporalio.client import Client

from cli.incidents.names import NAME_HELP, find_any, incident_name, open_incident_names
from cli.incidents.next_steps import http_address, ui_link
from cli.incidents.page import IncidentPage, incident_page
from cli.incidents.state_queries import StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.view import PageView
from cli.shared.connection import command_line, temporal
from cli.shared.errors import carry_out
from cli.shared.options import PageOutput, printed_as
from cli.shared.parameters import filled
from cli.shared.terminal import console, print_json, print_trimmed


def show(  # noqa: PLR0913  typer reads one option a parameter
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            parser=incident_name, metavar="NAME", help=NAME_HELP, autocompletion=open_incident_names
        ),
    ],
    *,
    cluster: Annotated[
        str | None, typer.Option(parser=filled, metavar="CLUSTER", help="Only of this cluster.")
    ] = None,
    output: Annotated[PageOutput, printed_as(PageOutput)] = PageOutput.TEXT,
    is_full: Annotated[
        bool, typer.Option("--full", help="Print all of the history, and not only its latest entries.")
    ] = False,
    ui: Annotated[
        str | None,
        typer.Option(
            "--ui",
            envvar="TEMPORAL_UI_URL",
            parser=http_address,
            metavar="URL",
            help="Address of the Temporal UI, for a link.",
        ),
    ] = None,
) -> None:
    """Show one incident: phase, timers, reasons, requests and history; the last one if none is open."""
    page = replace(carry_out(_read(context, name, cluster or "", ui or "")), is_full=is_full)
    if output is PageOutput.JSON:
        print_json(PageView.of_page(page))
    else:
        print_trimmed(incident_page(page), console())


async def _read(context: typer.Context, name: str, cluster: str, ui: str) -> IncidentPage:
    async with temporal(context) as client:
        summary = await find_any(client, name, cluster)
        page = await read_page(client, summary, name=name, command=command_line(context))
        link = ui_link(ui, client.namespace, summary) if ui else ""
        return replace(page, ui_link=link)


async def read_page(client: Client, summary: IncidentSummary, *, name: str, command: str) -> IncidentPage:
    """The page of one incident; `name` and `command` begin the commands that it proposes.

    Raises:
        RPCError: Temporal cannot be queried.

    """
    queried = await StateQueries(client).one(summary)
    return IncidentPage(
        summary=queried,
        ui_link="",
        now=datetime.now(UTC),
        name=name,
        command=command,
    )
