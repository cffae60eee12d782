"""Connection: where Temporal is, by its standard environment configuration; three options stand above it.

An option is written into the environment that the configuration is read from, so that it does exactly what
its variable does.
"""

import asyncio
import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RPCError, RPCStatusCode

from cli.failing import CommandError, UnreachableError, UsageError
from runtime.insisting import one_sentence
from runtime.temporal import connect

CONNECT_SECONDS = 10.0
DEFAULT_ADDRESS = "localhost:7233"
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
    address = _address(environment)
    client = await _connect(environment, address)
    try:
        yield client
    except RPCError as error:
        raise because(error, address) from error


def because(error: RPCError, address: str) -> CommandError:
    """What a refused call means to a person."""
    if error.status in _AWAY:
        return UnreachableError(f"Temporal at {address} cannot be used: {one_sentence(error)}")
    hint = ": run `paramedic setup`" if "search attribute" in str(error) else ""
    return CommandError(f"Temporal at {address} refuses: {one_sentence(error)}{hint}")


def _address(environment: dict[str, str]) -> str:
    try:
        config = ClientConfig.load_client_connect_config(override_env_vars=environment)
    except RuntimeError as error:
        raise UsageError(f"Temporal's configuration cannot be used: {one_sentence(error)}") from error
    return str(config.get("target_host", DEFAULT_ADDRESS))


async def _connect(environment: dict[str, str], address: str) -> Client:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await connect(_identity(environment), environment)
    except ValueError as error:
        raise UsageError(f"Temporal's address {address!r} cannot be used: {one_sentence(error)}") from error
    except TimeoutError as error:
        reason = f"no answer within {CONNECT_SECONDS:g} s"
        raise UnreachableError(f"Temporal at {address} cannot be reached: {reason}") from error
    except (RPCError, RuntimeError, OSError) as error:
        raise UnreachableError(f"Temporal at {address} cannot be reached: {_innermost(error)}") from error


def _identity(environment: dict[str, str]) -> str | None:
    """Whom an order is from, in the history of the incident; None: a process, as Temporal says it."""
    user = environment.get("USER") or environment.get("LOGNAME")
    return f"{user}@{socket.gethostname()}" if user else None


def _innermost(error: Exception) -> str:
    """The core reports errors nested in debugging output; the innermost text is the one for people."""
    texts = re.findall(r'(?:message|error): "([^"]+)"', str(error))
    return texts[-1] if texts else one_sentence(error)
