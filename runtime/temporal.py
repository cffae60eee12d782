"""The connection to Temporal, from its standard environment configuration, with our data converter."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from functools import partial

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError

from runtime import search_attributes
from runtime.insisting import FIRST_SECONDS, insist, one_sentence
from runtime.problems import Problems
from runtime.settings import SettingsError
from runtime.temporal_trouble import TemporalUnreachable, is_silence, silent, unconnected

CONNECT_SECONDS = 10.0
CHECK_EVERY_SECONDS = 5.0
DEFAULT_ADDRESS = "localhost:7233"


class NotSetUp(Exception):
    """The Temporal namespace lacks our search attributes."""


async def connect(
    identity: str | None = None,
    environment: Mapping[str, str] | None = None,
    runtime: Runtime | None = None,
) -> Client:
    """Connect to Temporal once, as `environment` says (None: that of this process).

    Raises:
        SettingsError: what it says cannot be used.
        TemporalUnreachable: Temporal is not there, or refuses.

    """
    config = _configuration(environment)
    address = config["target_host"]
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await Client.connect(
                **config, identity=identity, data_converter=pydantic_data_converter, runtime=runtime
            )
    except ValueError as error:
        raise SettingsError(f"Temporal's address {address!r} cannot be used: {error}") from error
    except TimeoutError as error:
        raise unconnected(address, TimeoutError(f"no answer within {CONNECT_SECONDS:g} s")) from error
    except (RPCError, RuntimeError, OSError) as error:  # RuntimeError: what the core says of a connection
        raise unconnected(address, error) from error


def address_of(client: Client) -> str:
    """Where the Temporal of a client is."""
    return client.service_client.config.target_host


def _configuration(environment: Mapping[str, str] | None) -> ClientConnectConfig:
    try:
        config = ClientConfig.load_client_connect_config(override_env_vars=environment)
    except RuntimeError as error:
        raise SettingsError(f"Temporal's configuration cannot be used: {one_sentence(error)}") from error
    except OSError as error:  # a file that it names
        why = f"{error.filename}: {error.strerror}"
        raise SettingsError(f"Temporal's configuration cannot be used: {why}") from error
    config.setdefault("target_host", DEFAULT_ADDRESS)
    return config


async def connect_insisting(identity: str, problems: Problems, runtime: Runtime | None) -> Client:
    """Connect to a Temporal namespace that is set up, however long that takes.

    Raises:
        SettingsError: what the environment says of Temporal cannot be used.

    """
    attempt = partial(connect, identity, runtime=runtime)
    client = await insist("temporal", attempt, (TemporalUnreachable,), problems)
    await _until_well(client, problems)
    return client


async def watch_temporal(client: Client, problems: Problems) -> None:
    """Report for ever whether Temporal answers and is set up; workers and calls recover by themselves.

    Without a search attribute no incident starts or ends, and Temporal tells nobody but the log.
    """
    while True:
        await _until_well(client, problems)
        await asyncio.sleep(CHECK_EVERY_SECONDS)


async def _until_well(client: Client, problems: Problems) -> None:
    """Return when Temporal answers and its namespace is set up; an outage is no problem of the namespace."""
    while True:
        await insist("temporal", partial(_answer, client), (TemporalUnreachable, RPCError), problems)
        with contextlib.suppress(TemporalUnreachable):
            return await insist("search attributes", partial(_check, client), (NotSetUp, RPCError), problems)
        await asyncio.sleep(FIRST_SECONDS)


async def _answer(client: Client) -> None:
    with _told_with_its_address(client):
        await client.service_client.check_health()


async def _check(client: Client) -> None:
    with _told_with_its_address(client):
        missing = await search_attributes.missing(client, client.namespace)
    if missing:
        raise NotSetUp(
            f"namespace {client.namespace} lacks the search attributes {', '.join(missing)}: "
            "run `paramedic setup`"
        )


@contextlib.contextmanager
def _told_with_its_address(client: Client) -> Iterator[None]:
    try:
        yield
    except RPCError as error:
        if is_silence(error):
            raise silent(address_of(client)) from error
        raise
