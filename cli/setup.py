"""`paramedic setup`: register our search attributes in the Temporal namespace."""

import asyncio

import typer
from temporalio.service import RPCError

from cli.failing import fail
from runtime import search_attributes
from runtime.search_attributes import SearchAttributeConflict
from runtime.temporal import connect


def setup() -> None:
    """Prepare a Temporal namespace: register the search attributes of incidents. Safe to repeat."""
    try:
        namespace, added = asyncio.run(_register())
    except (RPCError, RuntimeError, SearchAttributeConflict) as error:
        raise fail(error) from error
    typer.echo(f"namespace {namespace} is set up; added: {', '.join(added) or 'nothing, all were there'}")


async def _register() -> tuple[str, tuple[str, ...]]:
    client = await connect()
    return client.namespace, await search_attributes.register(client, client.namespace)
