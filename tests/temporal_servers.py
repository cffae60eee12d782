"""Temporal servers that live for as long as a block of a test; a cluster starts its own beside the rest."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment

from devcluster import programs
from devcluster.layout import lay_out
from devcluster.supervisor import COLLECT_RARELY, Supervisor
from devcluster.temporal import TemporalServer, start
from runtime import search_attributes

TIME_SKIPPING = (
    "frontend.WorkflowTimeSkippingEnabled=true",
    'history.timerProcessorMaxTimeShift="1ms"',  # else every timer fires up to a second late
)


@asynccontextmanager
async def temporal_server(directory: Path) -> AsyncIterator[TemporalServer]:
    """Run a Temporal server on `directory`, ready when the block begins, ended when it is left.

    Raises NotReadyError, HopelessError and MissingProgramError.
    """
    async with Supervisor() as supervisor:
        yield await start(supervisor, lay_out(directory))


@asynccontextmanager
async def time_skipping_server(*more: str) -> AsyncIterator[WorkflowEnvironment]:
    """A real Temporal server on which `fast_forward(handle, duration)` moves one workflow's clock.

    Nothing is skipped unless a test says so: other workflows, and this one afterwards, run in real time.
    `more` are values of its dynamic configuration.
    """
    arguments = [part for value in (*TIME_SKIPPING, *more) for part in ("--dynamic-config-value", value)]
    with _collecting_rarely():
        environment = await WorkflowEnvironment.start_time_skipping_v2(
            dev_server_existing_path=str(programs.temporal()),
            dev_server_extra_args=arguments,
            ts_config=TimeSkippingConfig(enabled=False),
            data_converter=pydantic_data_converter,
        )
    async with environment:
        await search_attributes.register(environment.client, environment.client.namespace)
        yield environment


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """What starts meanwhile inherits it; the SDK takes no environment for the server that it starts."""
    before = {name: os.environ.get(name) for name in COLLECT_RARELY}
    os.environ.update(COLLECT_RARELY)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
