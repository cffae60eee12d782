"""Servers that all tests share.

Each server starts when the first test asks for it, and stops with the session.
"""

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
from tests.rights.session import pytest_addoption, pytest_sessionfinish  # noqa: F401  hooks of pytest
from tests.support.api.fixtures import client, server, transport  # noqa: F401  fixtures
from tests.support.cluster.prepared import installed_control_plane, prepare
from tests.support.cluster.shared_temporal import (
    is_one_of_many,
    pytest_configure_node,  # noqa: F401  a hook of pytest-xdist
    pytest_unconfigure,  # noqa: F401  a hook of pytest
    shared_temporal_server,
)
from tests.support.cluster.sharing import pytest_xdist_make_scheduler  # noqa: F401  a hook of pytest-xdist
from tests.support.cluster.temporal_servers import set_up, skipping_environment

# The same few examples in each run, without a deadline: the result for a commit must depend on its change,
# not on how busy the machine is. More examples of the same kind found nothing new; `--hypothesis-profile
# default` tries other ones.
settings.register_profile(
    "same",
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("same")

# Thousands of tests and their imports stay in memory until the end. Collecting garbage among them again and
# again costs a tenth of the time of all tests.
YOUNG_OBJECTS = 20_000
gc.disable()

# The servers of all workers use all cores together. Servers that use several cores each cost a tenth more.
os.environ.setdefault("GOMAXPROCS", "1")


def pytest_collection_finish() -> None:
    """Exclude from garbage collection what exists after test collection."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory for the data and logs of the shared servers."""
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="session")
async def prepared(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prepared etcd data with which control planes start."""
    own = tmp_path_factory.getbasetemp()
    return await prepare(own.parent if is_one_of_many(pytestconfig) else own)


@pytest.fixture(scope="session")
async def control_plane(prepared: Path, directory: Path) -> AsyncIterator[ControlPlane]:
    async with installed_control_plane(prepared, directory / "kubernetes") as running:
        yield running


@pytest.fixture(scope="session")
async def temporal_server(pytestconfig: pytest.Config, directory: Path) -> AsyncIterator[TemporalServer]:
    async with shared_temporal_server(pytestconfig, directory / "temporal") as running:
        await set_up(running)
        yield running


@pytest.fixture(scope="session")
async def time_skipping(temporal_server: TemporalServer) -> WorkflowEnvironment:
    return await skipping_environment(temporal_server)
