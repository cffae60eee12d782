"""Connects to Temporal by its standard environment configuration, with our data converter."""

import asyncio
from collections.abc import Mapping, Sequence

from temporalio.client import Client, Interceptor
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter
from temporalio.runtime import Runtime
from temporalio.service import RPCError

from runtime.settings import SettingsError
from runtime.temporal_settings import named, temporal_settings
from runtime.temporal_trouble import setting_at_fault, unconnected

CONNECT_SECONDS = 10.0


async def connect(
    identity: str | None = None,
    environment: Mapping[str, str] | None = None,
    runtime: Runtime | None = None,
    converter: DataConverter = pydantic_data_converter,
    interceptors: Sequence[Interceptor] = (),
) -> Client:
    """Connect to Temporal once, as configured in `environment` (None: that of this process).

    Raises:
        SettingsError: the configuration is invalid.
        TemporalUnreachable: Temporal is down, or refuses.

    """
    config = temporal_settings(environment)
    address = config["target_host"]
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await Client.connect(
                **config,
                identity=identity,
                data_converter=converter,
                runtime=runtime,
                interceptors=interceptors,
            )
    except ValueError as error:
        setting = named("TEMPORAL_ADDRESS", environment)
        raise SettingsError(f"{setting}: {address!r} cannot be used: {error}") from error
    except TimeoutError as error:
        raise unconnected(address, TimeoutError(f"no answer within {CONNECT_SECONDS:g} s")) from error
    except (RPCError, RuntimeError, OSError) as error:  # RuntimeError: a failed connection
        if fault := setting_at_fault(error):
            raise SettingsError(f"{named(fault.setting, environment)}: {fault.what}") from error
        raise unconnected(address, error) from error


def address_of(client: Client) -> str:
    return client.service_client.config.target_host
