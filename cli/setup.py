"""`paramedic setup`: register our search attributes in the Temporal namespace."""

import typer

from cli.connection import any_namespace
from cli.failing import CommandError, carry_out
from runtime import search_attributes
from runtime.search_attributes import SearchAttributeConflict


def setup(context: typer.Context) -> None:
    """Prepare a Temporal namespace: register the search attributes of incidents. Safe to repeat."""
    namespace, added = carry_out(_register(context))
    typer.echo(f"namespace {namespace} is set up; added: {', '.join(added) or 'nothing, all were there'}")


async def _register(context: typer.Context) -> tuple[str, tuple[str, ...]]:
    async with any_namespace(context) as client:
        try:
            return client.namespace, await search_attributes.register(client, client.namespace)
        except SearchAttributeConflict as error:
            raise CommandError(str(error)) from error
