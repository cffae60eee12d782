from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import uuid4

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from tests.support.cluster.temporal_servers import (
    TIME_SKIPPING,
    set_up,
    skipping_environment,
    temporal_server,
)
from tests.support.story import workers
from tests.support.story.fake_clusters import FakeClusters
from tests.support.story.incident import IncidentDriver
from tests.workflows.checked import checked
from workflows.remediation import Remediation


@dataclass(frozen=True)
class SharedWorkers:
    """The workers of one cluster, and the script of its nodes."""

    cluster_name: str
    clusters: FakeClusters


@pytest.fixture(scope="session")
def replayer() -> Replayer:
    return Replayer(
        workflows=[Remediation],
        workflow_runner=UnsandboxedWorkflowRunner(),  # the sandbox has checked the run itself
        data_converter=pydantic_data_converter,
    )


@pytest.fixture(scope="session")
async def short_histories(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WorkflowEnvironment]:
    """A Temporal server that suggests to continue as new after a few dozen events."""
    limit = "limit.historyCount.suggestContinueAsNew=60"
    async with temporal_server(tmp_path_factory.mktemp("temporal"), limit, *TIME_SKIPPING) as server:
        await set_up(server)
        yield await skipping_environment(server)


@pytest.fixture(scope="session")
async def shared_workers(time_skipping: WorkflowEnvironment) -> AsyncIterator[SharedWorkers]:
    """A detector and a worker for all incidents that stop neither: a start takes as long as an act."""
    client, shared = time_skipping.client, SharedWorkers(f"test-{uuid4().hex[:8]}", FakeClusters())
    async with (
        workers.detector(client, shared.cluster_name, shared.clusters.detector),
        workers.worker(client, shared.cluster_name, shared.clusters.worker),
    ):
        yield shared


@pytest.fixture
async def bare_incident(
    time_skipping: WorkflowEnvironment, replayer: Replayer
) -> AsyncIterator[IncidentDriver]:
    async with checked(IncidentDriver(time_skipping, f"test-{uuid4().hex[:8]}"), replayer) as driver:
        yield driver


@pytest.fixture
async def incident(
    time_skipping: WorkflowEnvironment, shared_workers: SharedWorkers, replayer: Replayer
) -> AsyncIterator[IncidentDriver]:
    """An incident with a detector and a worker."""
    driver = IncidentDriver(time_skipping, shared_workers.cluster_name, uid=str(uuid4()))
    shared_workers.clusters.add(driver.reference, driver.cluster)
    async with checked(driver, replayer):
        yield driver


@pytest.fixture
async def long_incident(
    short_histories: WorkflowEnvironment, replayer: Replayer
) -> AsyncIterator[IncidentDriver]:
    """An incident with a detector and a worker, whose history soon becomes too long."""
    driver = IncidentDriver(short_histories, f"test-{uuid4().hex[:8]}")
    async with checked(driver, replayer), driver.detector(), driver.worker():
        yield driver
