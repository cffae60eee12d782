"""`paramedic show`: all that is known of one incident."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from cli.asking import Asking
from cli.choosing import one_of, words
from cli.connection import temporal
from cli.console import console
from cli.failing import carry_out
from cli.incident_page import Page, incident_page
from cli.links import ui_link
from cli.naming import NAME_HELP, find_any
from cli.page_view import PageView
from cli.story import read_story


class PageOutput(StrEnum):
    """How one incident is printed."""

    TEXT = "text"
    JSON = "json"


def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP)],
    *,
    cluster: Annotated[str, typer.Option(help="Of this cluster.")] = "",
    output: Annotated[
        PageOutput,
        typer.Option(
            "-o", "--output", parser=one_of(PageOutput), metavar=words(PageOutput), help="How to print."
        ),
    ] = PageOutput.TEXT,
    ui: Annotated[
        str, typer.Option("--ui", envvar="TEMPORAL_UI_URL", help="Address of the Temporal UI, for a link.")
    ] = "",
) -> None:
    """Show one incident: phase, timers, reasons, requests, and history; the last one if none is open."""
    page = carry_out(_read(context, name, cluster, ui))
    if output is PageOutput.JSON:
        typer.echo(PageView.of_page(page).model_dump_json(indent=2))
    else:
        console().print(incident_page(page))


async def _read(context: typer.Context, name: str, cluster: str, ui: str) -> Page:
    async with temporal(context) as client:
        sight = await Asking(client).one(await find_any(client, name, cluster))
        story = await read_story(client, sight.incident.workflow_id, sight.run_id)
        link = ui_link(ui, client.namespace, sight) if ui else ""
        return Page(sight, tuple(story), link, datetime.now(UTC))
