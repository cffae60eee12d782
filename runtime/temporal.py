"""The connection to Temporal, from its standard environment configuration, with our data converter."""

import asyncio
from collections.abc import Mapping

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError

from runtime import search_attributes
from runtime.insisting import insist
from runtime.problems import Problems

UNAVAILABLE = (RPCError, RuntimeError, OSError)
"""What a missing server raises: the core reports a refused connection as RuntimeError."""


CHECK_EVERY_SECONDS = 5.0


class NotSetUp(Exception):
    """The Temporal namespace lacks our search attributes."""


async def connect(
    identity: str | None = None,
    environment: Mapping[str, str] | None = None,
    runtime: Runtime | None = None,
) -> Client:
    """Connect to Temporal once, as `environment` says (None: that of this process).

    Raises:
        RuntimeError, RPCError: it is not there, or refuses.

    """
    config = ClientConfig.load_client_connect_config(override_env_vars=environment)
    config.setdefault("target_host", "localhost:7233")
    return await Client.connect(
        **config, identity=identity, data_converter=pydantic_data_converter, runtime=runtime
    )


async def connect_insisting(identity: str, problems: Problems, runtime: Runtime | None) -> Client:
    """Connect to a Temporal namespace that is set up, however long that takes."""
    client = await insist("temporal", lambda: connect(identity, runtime=runtime), UNAVAILABLE, problems)
    await _until_set_up(client, problems)
    return client


async def _until_set_up(client: Client, problems: Problems) -> None:
    await insist("search attributes", lambda: _check(client), (NotSetUp, *UNAVAILABLE), problems)


async def _check(client: Client) -> None:
    missing = await search_attributes.missing(client, client.namespace)
    if missing:
        raise NotSetUp(
            f"namespace {client.namespace} lacks the search attributes {', '.join(missing)}: "
            "run `paramedic setup`"
        )


async def watch_temporal(client: Client, problems: Problems) -> None:
    """Report for ever whether Temporal answers and is set up; workers and calls recover by themselves.

    Without a search attribute no incident starts or ends, and Temporal tells nobody but the log.
    """
    while True:
        await insist("temporal", client.service_client.check_health, UNAVAILABLE, problems)
        await _until_set_up(client, problems)
        await asyncio.sleep(CHECK_EVERY_SECONDS)
