"""`paramedic setup`: registers our search attributes in a Temporal namespace, which it creates on demand.

It is safe to repeat: existing attributes stay, and the retention changes only if an option names one. If
Temporal refuses, as Temporal Cloud does, the error quotes the `tcld` command that does the same there.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated

import typer
from google.protobuf.duration_pb2 import Duration
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.workflowservice.v1 import (
    RegisterNamespaceRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from cli.shared.ages import parse_days, short
from cli.shared.connection import NOT_FOR_US, RPC_TIMEOUT, any_namespace, retention_of
from cli.shared.errors import CommandError, ExitCode, UnreachableError, carry_out
from runtime import search_attributes
from runtime.problems import one_sentence
from runtime.search_attributes import SearchAttributeConflict
from runtime.temporal import address_of

RETENTION = timedelta(days=30)
"""Long enough to look back after an incident; back-off needs an hour by default."""
SHORTEST, LONGEST = timedelta(hours=1), timedelta(days=10 * 366)
"""The bounds of the retention. Many Temporal servers, and all namespaces of several clusters, require a
day."""
NAMESPACE_READY_SECONDS, AGAIN_SECONDS = 60.0, 0.5
"""How long the servers of a Temporal cluster take, at most, to learn of a new namespace."""


def _retention(text: str) -> timedelta:
    try:
        retention = parse_days(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} must be a duration such as 30d or 720h") from error
    if not SHORTEST <= retention <= LONGEST:
        raise typer.BadParameter(f"{text!r} must be from {short(SHORTEST)} to {LONGEST.days}d")
    return retention


def setup(
    context: typer.Context,
    *,
    is_created: Annotated[
        bool, typer.Option("--create-namespace", help="Create the namespace if it is missing.")
    ] = False,
    retention: Annotated[
        timedelta | None,
        typer.Option(
            parser=_retention,
            metavar="DURATION",
            help=f"Retention of closed workflows, e.g. 30d; default for a new one: {RETENTION.days}d.",
        ),
    ] = None,
    is_best_effort: Annotated[
        bool,
        typer.Option(
            "--best-effort",
            help="Exit with 0 even if Temporal refuses or does not answer, for a container before a worker.",
        ),
    ] = False,
) -> None:
    """Prepare a Temporal namespace.

    It registers the search attributes of incidents, and may be repeated.
    """
    try:
        typer.echo(carry_out(_set_up(context, retention, is_created=is_created)))
    except typer.Exit as ended:
        if not is_best_effort or ended.exit_code == ExitCode.USAGE:
            raise


async def _set_up(context: typer.Context, retention: timedelta | None, *, is_created: bool) -> str:
    async with any_namespace(context) as client:
        done = ""
        if is_created or retention is not None:
            done = await _prepare(client, retention, is_created=is_created)
        # The servers of a Temporal cluster learn of a new namespace one after the other.
        clock = asyncio.get_running_loop().time
        end = clock() + (NAMESPACE_READY_SECONDS if is_created else 0)
        while True:
            try:
                added = await _register(client)
                break
            except UnreachableError:
                if clock() >= end:
                    raise
            await asyncio.sleep(AGAIN_SECONDS)
        result = f"is set up{done}; added: {', '.join(added) or 'nothing, all were there'}"
        return f"namespace {client.namespace} {result}"


async def _prepare(client: Client, retention: timedelta | None, *, is_created: bool) -> str:
    """Create the namespace, or set its retention. Returns a clause that says so."""
    with _refused("look at", client, create_in_cloud(client.namespace)):
        before = await retention_of(client)
    if before is None:
        if not is_created:
            raise _missing(client)
        chosen = RETENTION if retention is None else retention
        new = RegisterNamespaceRequest(
            namespace=client.namespace, workflow_execution_retention_period=_wire(chosen)
        )
        with _refused("create", client, create_in_cloud(client.namespace, chosen)):
            try:
                await client.workflow_service.register_namespace(new, timeout=RPC_TIMEOUT)
            except RPCError as error:
                if error.status is not RPCStatusCode.ALREADY_EXISTS:  # it was created a moment ago
                    raise
        return f", new, and keeps closed workflows for {short(chosen)}"
    if retention is None or retention == before:
        return ""
    changed = UpdateNamespaceRequest(
        namespace=client.namespace, config=NamespaceConfig(workflow_execution_retention_ttl=_wire(retention))
    )
    in_cloud = f"tcld namespace retention set --namespace {client.namespace} {_in_days(retention)}"
    with _refused("change", client, in_cloud):
        await client.workflow_service.update_namespace(changed, timeout=RPC_TIMEOUT)
    return f", and keeps closed workflows for {short(retention)}, where it was {short(before)}"


@contextmanager
def _refused(action: str, client: Client, in_cloud: str) -> Iterator[None]:
    """Turn the answer to a call that these credentials may not make into the error of the command."""
    try:
        yield
    except RPCError as error:
        if error.status in NOT_FOR_US:
            raise refusal(action, client, error, in_cloud) from error
        raise


async def _register(client: Client) -> tuple[str, ...]:
    in_cloud = f"tcld namespace search-attributes add --namespace {client.namespace} {_attributes()}"
    try:
        with _refused("add search attributes to", client, in_cloud):
            return await search_attributes.register(client, client.namespace)
    except SearchAttributeConflict as error:
        raise CommandError(str(error)) from error
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise _missing(client) from error
        raise


def _missing(client: Client) -> UnreachableError:
    problem = f"Temporal at {address_of(client)} has no namespace {client.namespace}"
    return UnreachableError(f"{problem}: `paramedic setup --create-namespace` makes it")


def refusal(action: str, client: Client, error: RPCError, in_cloud: str) -> CommandError:
    """The error for a call that these credentials may not make; it names the commands for Temporal Cloud."""
    return CommandError(
        f"Temporal at {address_of(client)} does not let us {action} the namespace {client.namespace}: "
        f"{one_sentence(error).rstrip('.')}: have its administrator do it; in Temporal Cloud, `{in_cloud}`"
    )


def create_in_cloud(namespace: str, retention: timedelta = RETENTION) -> str:
    """The command that creates the namespace in Temporal Cloud, without region and credentials."""
    return f"tcld namespace create --namespace {namespace} {_in_days(retention)} {_attributes()}"


def _in_days(retention: timedelta) -> str:
    return f"--retention-days {max(1, -(-retention // timedelta(days=1)))}"


def _attributes() -> str:
    types = {key.name: key.indexed_value_type.name.title() for key in search_attributes.KEYS}
    return " ".join(f"--search-attribute {name}={type_}" for name, type_ in types.items())


def _wire(duration: timedelta) -> Duration:
    found = Duration()
    found.FromTimedelta(duration)
    return found
