"""`paramedic show`: prints all data of one incident."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from cli.incidents.document import IncidentDocument, incident_document
from cli.incidents.names import NAME_HELP, find_any, incident_name, open_incident_names
from cli.incidents.next_steps import http_address, ui_link
from cli.incidents.page import incident_page
from cli.incidents.state_queries import StateQueries
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
    """Show one incident: phase, timers, reasons, requests, history.

    It is the last one if none is open.
    """
    document = carry_out(_read(context, name, cluster or "", ui))
    if output is PageOutput.JSON:
        print_json(document)
    else:
        print_trimmed(incident_page(document, is_full=is_full), console())


async def _read(context: typer.Context, name: str, cluster: str, ui: str | None) -> IncidentDocument:
    async with temporal(context) as client:
        summary = await StateQueries(client).one(await find_any(client, name, cluster))
        ui_url = ui_link(ui, client.namespace, summary) if ui else None
        now, command = datetime.now(UTC), command_line(context)
        return incident_document(summary, now, name=name, command=command, ui_url=ui_url)
