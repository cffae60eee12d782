from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from devcluster import programs
from runtime import search_attributes
from tests.conftest import TIME_SKIPPING
from tests.workflows.incident import IncidentDriver
from tests.workflows.violations import violations
from workflows.remediation import Remediation


@pytest.fixture(scope="session")
def replayer() -> Replayer:
    return Replayer(
        workflows=[Remediation],
        workflow_runner=UnsandboxedWorkflowRunner(),  # the sandbox has watched the run itself
        data_converter=pydantic_data_converter,
    )


@pytest.fixture(scope="session")
async def short_histories() -> AsyncIterator[WorkflowEnvironment]:
    """A Temporal server that suggests to continue as new after a few dozen events."""
    values = (*TIME_SKIPPING, "limit.historyCount.suggestContinueAsNew=60")
    async with await WorkflowEnvironment.start_time_skipping_v2(
        dev_server_existing_path=str(programs.temporal()),
        dev_server_extra_args=[
            argument for value in values for argument in ("--dynamic-config-value", value)
        ],
        ts_config=TimeSkippingConfig(enabled=False),
        data_converter=pydantic_data_converter,
    ) as environment:
        await search_attributes.register(environment.client, environment.client.namespace)
        yield environment


@pytest.fixture
async def bare_incident(
    time_skipping: WorkflowEnvironment, replayer: Replayer
) -> AsyncIterator[IncidentDriver]:
    """An incident without workers."""
    async with _checked(time_skipping, replayer) as driver:
        yield driver


@pytest.fixture
async def incident(bare_incident: IncidentDriver) -> AsyncIterator[IncidentDriver]:
    """An incident with a detector and a worker."""
    async with bare_incident.detector(), bare_incident.worker():
        yield bare_incident


@pytest.fixture
async def long_incident(
    short_histories: WorkflowEnvironment, replayer: Replayer
) -> AsyncIterator[IncidentDriver]:
    """An incident with a detector and a worker, whose history becomes too long soon."""
    async with _checked(short_histories, replayer) as driver, driver.detector(), driver.worker():
        yield driver


@asynccontextmanager
async def _checked(environment: WorkflowEnvironment, replayer: Replayer) -> AsyncIterator[IncidentDriver]:
    """Afterwards what must hold of all incidents is checked."""
    driver = IncidentDriver(environment, f"test-{uuid4().hex[:8]}")
    yield driver
    histories = await driver.histories()
    has_ended = bool(histories) and (await driver.status()) is WorkflowExecutionStatus.COMPLETED
    if histories and not has_ended:
        await driver.handle.terminate()
    for history in histories:
        await replayer.replay_workflow(history)
    assert violations(driver.cluster) == []
    assert not has_ended or (not driver.cluster.requests and not driver.cluster.is_leased)
