"""Completes the names of incidents in a shell. An error completes nothing, as it would break the line."""

import asyncio
from collections.abc import Iterable

import typer

from cli.incidents.visibility import Filter, open_incidents
from cli.shared.connection import choose_environment, temporal
from cli.shared.errors import CommandError
from health.model.references import IncidentReference

LONGEST_SECONDS = 3
"""A person waits for a completion no longer than this."""


def open_incident_names(context: typer.Context, incomplete: str) -> list[str]:
    """The names of open incidents that begin with the typed text."""
    choose_environment(context, context.find_root().params)  # completion runs no callback
    try:
        found = asyncio.run(_open(context))
    except (CommandError, TimeoutError):
        return []
    return completions(found, incomplete)


async def _open(context: typer.Context) -> list[IncidentReference]:
    async with asyncio.timeout(LONGEST_SECONDS), temporal(context) as client:
        return [summary.incident for summary in await open_incidents(client, Filter())]


def completions(incidents: Iterable[IncidentReference], incomplete: str) -> list[str]:
    """Names of targets; names of check and target once a slash is typed."""
    names = {
        f"{incident.check.name}/{incident.target.name}" if "/" in incomplete else incident.target.name
        for incident in incidents
    }
    return sorted(name for name in names if name.startswith(incomplete))
