"""Connection: where Temporal is, by its standard environment configuration; three options stand above it.

An option is written into the environment that the configuration is read from, so that it does exactly what
its variable does.
"""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from cli.failing import CommandError, UnreachableError, UsageError
from runtime.insisting import one_sentence
from runtime.settings import SettingsError
from runtime.temporal import address_of, connect
from runtime.temporal_trouble import TemporalUnreachable, is_silence, silent

_AWAY = {
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.NOT_FOUND,
}
"""What a call answers where Temporal is not there or lets us not in; NOT_FOUND is the namespace's."""


def choose_temporal(
    context: typer.Context,
    profile: Annotated[
        str | None, typer.Option(help="Profile of Temporal's configuration file, as TEMPORAL_PROFILE.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Where Temporal is, host:port, as TEMPORAL_ADDRESS.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Temporal namespace, as TEMPORAL_NAMESPACE.")] = None,
) -> None:
    """Durable remediation of unhealthy Kubernetes nodes and machines."""
    given = {"TEMPORAL_PROFILE": profile, "TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace}
    context.obj = os.environ | {name: value for name, value in given.items() if value is not None}


@asynccontextmanager
async def temporal(context: typer.Context) -> AsyncIterator[Client]:
    """A connection to Temporal; what its calls raise in the block becomes a CommandError.

    Raises:
        UsageError: the configuration cannot be used.
        UnreachableError: Temporal is not there, or lets us not in.
        CommandError: Temporal refuses a call.

    """
    environment: dict[str, str] = context.obj
    try:
        client = await connect(_identity(environment), environment)
    except SettingsError as error:
        raise UsageError(str(error)) from error
    except TemporalUnreachable as error:
        raise UnreachableError(str(error)) from error
    try:
        yield client
    except RPCError as error:
        raise because(error, address_of(client)) from error


def because(error: RPCError, address: str) -> CommandError:
    """What a refused call means to a person."""
    if is_silence(error):
        return UnreachableError(str(silent(address)))
    if error.status in _AWAY:
        return UnreachableError(f"Temporal at {address} cannot be used: {one_sentence(error)}")
    hint = ": run `paramedic setup`" if "search attribute" in str(error) else ""
    return CommandError(f"Temporal at {address} refuses: {one_sentence(error)}{hint}")


def _identity(environment: dict[str, str]) -> str | None:
    """Whom an order is from, in the history of the incident; None: a process, as Temporal says it."""
    user = environment.get("USER") or environment.get("LOGNAME")
    return f"{user}@{socket.gethostname()}" if user else None
