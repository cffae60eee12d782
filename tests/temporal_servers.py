"""Temporal servers that live for as long as a block of a test, and what skips time on one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.api.common.v1 import TimeSkippingInfo
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import TimeSkipper, TimeSkippingConfig, WorkflowEnvironment

from devcluster.layout import lay_out
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer, start
from runtime import search_attributes

TIME_SKIPPING = (
    "frontend.WorkflowTimeSkippingEnabled=true",
    'history.timerProcessorMaxTimeShift="1ms"',  # else every timer fires up to a second late
)


@asynccontextmanager
async def temporal_server(directory: Path, *settings: str) -> AsyncIterator[TemporalServer]:
    """Run a Temporal server on `directory`, ready when the block begins, ended when it is left.

    `settings` are values of its dynamic configuration. Raises NotReadyError, HopelessError and
    MissingProgramError.
    """
    async with Supervisor() as supervisor:
        yield await start(supervisor, lay_out(directory), settings)


class SkippingEnvironment(WorkflowEnvironment):
    """A server on which `fast_forward(handle, duration)` moves one workflow's clock.

    Nothing is skipped unless a test says so: other workflows, and this one afterwards, run in real time.
    """

    def __init__(self, client: Client) -> None:
        self._skipper = TimeSkipper(client, config=TimeSkippingConfig(enabled=False))
        super().__init__(self._skipper.client)

    async def fast_forward(
        self, handle: WorkflowHandle[Any, Any], duration: timedelta | float | None = None, /
    ) -> bool:
        """Move it; answers whether the workflow is still open."""
        return await self._skipper.fast_forward(handle, duration)

    async def get_time_skipping_info(self, handle: WorkflowHandle[Any, Any]) -> TimeSkippingInfo | None:
        """Its clock; None where nobody moved it."""
        return await self._skipper.get_time_skipping_info(handle)


async def client_of(server: TemporalServer) -> Client:
    """A client that reads and writes values as ours do."""
    return await Client.connect(
        server.address, namespace=server.namespace, data_converter=pydantic_data_converter
    )


async def set_up(server: TemporalServer) -> Client:
    """Register our search attributes, as `paramedic setup` does; answers a client."""
    client = await client_of(server)
    await search_attributes.register(client, server.namespace)
    return client


async def skipping_environment(server: TemporalServer) -> WorkflowEnvironment:
    """See SkippingEnvironment; the server was started with TIME_SKIPPING."""
    return SkippingEnvironment(await client_of(server))
