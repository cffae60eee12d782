"""Servers that all tests share: each starts when the first test asks for it, and ends with the session."""

import gc
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from temporalio.testing import WorkflowEnvironment

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from tests.conformance.collection import pytest_pycollect_makeitem  # noqa: F401  a hook of pytest
from tests.prepared import installed_control_plane, prepare
from tests.rights.session import pytest_addoption, pytest_sessionfinish  # noqa: F401  hooks of pytest
from tests.shared_temporal import (
    is_one_of_many,
    pytest_configure_node,  # noqa: F401  a hook of pytest-xdist
    pytest_unconfigure,  # noqa: F401  a hook of pytest
    shared_temporal_server,
)
from tests.sharing import pytest_xdist_make_scheduler  # noqa: F401  a hook of pytest-xdist
from tests.temporal_servers import set_up, skipping_environment

# A commit is judged by what it changed, on a machine however busy: the same examples each time, and no clock.
# Few, because more of the same find nothing new; `--hypothesis-profile default` looks for others.
settings.register_profile(
    "same",
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("same")

# Thousands of tests, and what they import, stay until the end: to look through all of it again and again
# costs a tenth of what the tests do.
YOUNG_OBJECTS = 20_000
gc.disable()

# The servers of all workers fill the cores together: that each spreads over several costs a tenth more.
os.environ.setdefault("GOMAXPROCS", "1")


def pytest_collection_finish() -> None:
    """From now on look for garbage, but not among what is here already."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the shared servers keep their data and logs."""
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="session")
async def prepared(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What control planes begin with."""
    own = tmp_path_factory.getbasetemp()
    return await prepare(own.parent if is_one_of_many(pytestconfig) else own)


@pytest.fixture(scope="session")
async def control_plane(prepared: Path, directory: Path) -> AsyncIterator[ControlPlane]:
    """A real control plane with our CRDs and RBAC installed."""
    async with installed_control_plane(prepared, directory / "kubernetes") as running:
        yield running


@pytest.fixture(scope="session")
async def temporal_server(pytestconfig: pytest.Config, directory: Path) -> AsyncIterator[TemporalServer]:
    """A real Temporal server with our search attributes registered."""
    async with shared_temporal_server(pytestconfig, directory / "temporal") as running:
        await set_up(running)
        yield running


@pytest.fixture(scope="session")
async def time_skipping(temporal_server: TemporalServer) -> WorkflowEnvironment:
    """See `SkippingEnvironment`."""
    return await skipping_environment(temporal_server)
