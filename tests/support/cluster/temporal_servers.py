"""Temporal servers for one block of a test, and time skipping on them."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.api.common.v1 import TimeSkippingInfo
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import TimeSkipper, TimeSkippingConfig, WorkflowEnvironment

from devcluster.distributed_temporal import ADDRESS_VARIABLE
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer, attach, start
from runtime import search_attributes
from tests.support.api.ports import own_layout

TIME_SKIPPING = (
    "frontend.WorkflowTimeSkippingEnabled=true",
    'history.timerProcessorMaxTimeShift="1ms"',  # else every timer fires up to a second late
)


@asynccontextmanager
async def temporal_server(directory: Path, *settings: str) -> AsyncIterator[TemporalServer]:
    """Run a Temporal server on `directory`; it is ready in the block and stopped after it.

    PARAMEDIC_TEST_TEMPORAL names another one, which is used unless the test needs settings of its own.
    `settings` are values of the dynamic configuration. Raises NotReadyError, HopelessError and
    MissingProgramError.
    """
    address = os.environ.get(ADDRESS_VARIABLE)
    if address and not settings:
        yield await attach(address)
        return
    async with Supervisor() as supervisor:
        yield await start(supervisor, own_layout(directory), settings)


class SkippingEnvironment(WorkflowEnvironment):
    """A server on which `fast_forward(handle, duration)` moves the clock of one workflow.

    Time is skipped only in that call: other workflows, and this workflow afterwards, run in real time.
    """

    def __init__(self, client: Client) -> None:
        self._skipper = TimeSkipper(client, config=TimeSkippingConfig(enabled=False))
        super().__init__(self._skipper.client)

    async def fast_forward(
        self, handle: WorkflowHandle[Any, Any], duration: timedelta | float | None = None, /
    ) -> bool:
        """Move the clock of the workflow; return whether the workflow is still open."""
        return await self._skipper.fast_forward(handle, duration)

    async def get_time_skipping_info(self, handle: WorkflowHandle[Any, Any]) -> TimeSkippingInfo | None:
        """The time-skipping state of the workflow; None if its clock was never moved."""
        return await self._skipper.get_time_skipping_info(handle)


async def client_of(server: TemporalServer) -> Client:
    return await Client.connect(
        server.address, namespace=server.namespace, data_converter=pydantic_data_converter
    )


async def set_up(server: TemporalServer) -> Client:
    """Register our search attributes as `paramedic setup` does; return a client."""
    client = await client_of(server)
    await search_attributes.register(client, server.namespace)
    return client


async def skipping_environment(server: TemporalServer) -> WorkflowEnvironment:
    """Use a server that was started with TIME_SKIPPING."""
    return SkippingEnvironment(await client_of(server))


async def end_workflows(client: Client, cluster: str) -> None:
    """Terminate each open workflow of the cluster; Temporal lists one as open for a moment after its end."""
    query = f"ParamedicCluster = '{cluster}' AND ExecutionStatus = 'Running'"
    async for execution in client.list_workflows(query):
        try:
            await client.get_workflow_handle(execution.id).terminate("the test is over")
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
