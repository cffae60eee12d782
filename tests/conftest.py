"""Servers that all tests share: each starts when the first test asks for it, and ends with the session."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment

from devcluster import assets, manifests, programs
from devcluster import control_plane as control_planes
from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from runtime import search_attributes
from tests import temporal_servers
from tests.conformance.collection import pytest_pycollect_makeitem  # noqa: F401  a hook of pytest
from tests.rights.session import pytest_addoption, pytest_sessionfinish  # noqa: F401  hooks of pytest
from tests.sharing import pytest_xdist_make_scheduler  # noqa: F401  a hook of pytest-xdist

# A commit is judged by what it changed, on a machine however busy: the same examples each time, and no clock.
# `--hypothesis-profile default` looks for others.
settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("same")

TIME_SKIPPING = (
    "frontend.WorkflowTimeSkippingEnabled=true",
    'history.timerProcessorMaxTimeShift="1ms"',  # else every timer fires up to a second late
)


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the shared servers keep their data and logs."""
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="session")
async def control_plane(directory: Path) -> AsyncIterator[ControlPlane]:
    """A real control plane with our CRDs and RBAC installed."""
    async with control_planes.control_plane(directory / "kubernetes", assets.find()) as running:
        await manifests.install(running.kubeconfig)
        yield running


@pytest.fixture(scope="session")
async def temporal_server(directory: Path) -> AsyncIterator[TemporalServer]:
    """A real Temporal server with our search attributes registered."""
    async with temporal_servers.temporal_server(directory / "temporal") as running:
        client = await Client.connect(running.address, namespace=running.namespace)
        await search_attributes.register(client, client.namespace)
        yield running


@pytest.fixture(scope="session")
async def time_skipping() -> AsyncIterator[WorkflowEnvironment]:
    """A real Temporal server on which `fast_forward(handle, duration)` moves one workflow's clock.

    Nothing is skipped unless a test says so: other workflows, and this one afterwards, run in real time.
    """
    arguments = [argument for value in TIME_SKIPPING for argument in ("--dynamic-config-value", value)]
    async with await WorkflowEnvironment.start_time_skipping_v2(
        dev_server_existing_path=str(programs.temporal()),
        dev_server_extra_args=arguments,
        ts_config=TimeSkippingConfig(enabled=False),
        data_converter=pydantic_data_converter,
    ) as environment:
        await search_attributes.register(environment.client, environment.client.namespace)
        yield environment
