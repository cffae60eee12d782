"""Connects to Temporal by its standard environment configuration.

An option is written into the environment before the configuration is read, so it has the same effect as its
variable.
"""

import importlib.metadata
import os
import pwd
import shlex
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Annotated

import typer
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError, RPCStatusCode

from cli.shared.errors import CommandError, UnreachableError, UsageError, wrong_setting
from cli.shared.terminal import PLAIN_DATA, plain
from runtime import search_attributes
from runtime.payload_codec import PayloadKeys, UnreadablePayload, with_keys
from runtime.problems import one_sentence
from runtime.search_attributes import SearchAttributeConflict
from runtime.settings import PAYLOAD_KEYS_VARIABLE, SettingsError
from runtime.temporal import address_of, connect
from runtime.temporal_trouble import TemporalUnreachable, is_silence, trouble_with

_AWAY = {
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.NOT_FOUND,
}
"""Status codes that mean that Temporal is down or denies access; NOT_FOUND is about the namespace."""
RPC_TIMEOUT = timedelta(seconds=10)
"""The limit for one call of Temporal; orders and queries have shorter ones."""
_OPTIONS = ("profile", "address", "namespace")
_ADVICE = "if it is the right one, `paramedic setup` prepares it"
_SEARCHED = {
    key.name for key in (search_attributes.CLUSTER, search_attributes.CHECK, search_attributes.TARGET)
}
"""No incident can be found without these. Others may be missing until `paramedic setup` has run after an
upgrade."""
NOT_FOR_US = {RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED}
"""Status codes of a call that our Temporal role, or a proxy, does not allow."""


def _print_version(is_requested: bool) -> None:  # noqa: FBT001  typer calls it
    if is_requested:
        typer.echo(f"paramedic {importlib.metadata.version('paramedic')}")
        raise typer.Exit


def choose_temporal(
    context: typer.Context,
    profile: Annotated[
        str | None, typer.Option(help="Profile of Temporal's configuration file, as TEMPORAL_PROFILE.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Address of Temporal, host:port, as TEMPORAL_ADDRESS.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Temporal namespace, as TEMPORAL_NAMESPACE.")] = None,
    *,
    version: Annotated[  # noqa: ARG001  its callback prints it
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Durable remediation of unhealthy Kubernetes nodes and machines."""
    options = {"profile": profile, "address": address, "namespace": namespace}
    for option, value in options.items():
        if value == "":
            raise typer.BadParameter("must not be empty", param_hint=f"--{option}")
    choose_environment(context, options)


def choose_environment(context: typer.Context, options: Mapping[str, str | None]) -> None:
    """Give the command the environment of this process, with the given options in place of variables."""
    chosen = {name: value for name in _OPTIONS if (value := options.get(name)) is not None}
    context.obj = os.environ | {f"TEMPORAL_{name.upper()}": value for name, value in chosen.items()}


def command_line(context: typer.Context) -> str:
    """The command with the options that select this Temporal, for lines that people copy."""
    parameters = context.find_root().params
    options = (
        f"--{name} {shlex.quote(parameters[name])}" for name in _OPTIONS if parameters.get(name) is not None
    )
    return " ".join(["paramedic", *options])


@asynccontextmanager
async def temporal(context: typer.Context) -> AsyncIterator[Client]:
    """Connect to a namespace that is set up; an RPC error in the block becomes a CommandError.

    Raises:
        UsageError: the configuration is invalid, or the namespace is not set up for incidents.
        UnreachableError: Temporal is down or denies access.
        CommandError: Temporal refuses a call.

    """
    async with any_namespace(context) as client:
        await require_incidents(client)
        yield client


@asynccontextmanager
async def any_namespace(context: typer.Context) -> AsyncIterator[Client]:
    """Connect to a namespace that may not be set up yet.

    Raises:
        UsageError: the configuration is invalid, or the key for encrypted payloads is missing.
        UnreachableError: Temporal is down or denies access.
        CommandError: Temporal refuses a call.

    """
    environment: dict[str, str] = context.obj
    try:
        client = await client_of(environment, identity_of(environment))
    except SettingsError as error:
        raise wrong_setting(error, "TEMPORAL_", context.find_root().params) from error
    except TemporalUnreachable as error:
        raise UnreachableError(str(error)) from error
    try:
        yield client
    except UnreadablePayload as error:
        raise UsageError(str(error)) from error
    except RPCError as error:
        raise because(error, client) from error


async def client_of(environment: Mapping[str, str], identity: str | None) -> Client:
    """A client for the Temporal that `environment` configures; raises as `connect`, also for its keys."""
    keys = PayloadKeys.read(environment.get(PAYLOAD_KEYS_VARIABLE))
    # The log of the SDK's core would go to standard output, into the command's output.
    silent_core = Runtime(telemetry=TelemetryConfig(logging=None))
    return await connect(identity, environment, silent_core, with_keys(keys, PLAIN_DATA))


async def require_incidents(client: Client) -> None:
    """Raise an error unless the namespace is set up: otherwise "no incidents" would be a false all-clear."""
    try:
        missing = await search_attributes.missing(client, client.namespace)
    except SearchAttributeConflict as error:
        raise CommandError(f"Temporal at {address_of(client)} is not fit: {error}") from error
    except RPCError as error:
        if error.status not in NOT_FOR_US:
            raise
        return
    if _SEARCHED.intersection(missing):
        raise UsageError(f"{_namespace(client)} lacks the search attributes of Paramedic: {_ADVICE}")


def _namespace(client: Client) -> str:
    return f"the Temporal namespace {client.namespace} at {address_of(client)}"


def because(error: RPCError, client: Client) -> CommandError:
    address = address_of(client)
    if is_silence(error):
        return UnreachableError(str(trouble_with(address, error)))
    if error.status in _AWAY:
        return UnreachableError(f"Temporal at {address} cannot be used: {one_sentence(error)}")
    if "search attribute" in str(error):
        return CommandError(f"{_namespace(client)} refuses: {one_sentence(error)}: {_ADVICE}")
    return CommandError(f"Temporal at {address} refuses: {one_sentence(error)}")


def identity_of(environment: Mapping[str, str]) -> str:
    """The sender of an order, as the history of the incident shows it."""
    user = environment.get("USER") or environment.get("LOGNAME") or _user_of_this_process()
    return plain(f"{user}@{socket.gethostname()}").encode(errors="replace").decode()


def _user_of_this_process() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # as in a Pod
        return f"uid-{os.getuid()}"


async def retention_of(client: Client) -> timedelta | None:
    """The retention of the namespace of this client; None if the namespace does not exist.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    request = DescribeNamespaceRequest(namespace=client.namespace)
    try:
        answer = await client.workflow_service.describe_namespace(request, timeout=RPC_TIMEOUT)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    return answer.config.workflow_execution_retention_ttl.ToTimedelta()
