"""The story of a workflow over all its runs, read from a real Temporal server."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from cli.incidents.story import Story, read_story
from devcluster.temporal import TemporalServer
from tests.support.cluster.temporal_servers import client_of

QUEUE = "whole-story"
PATIENCE_SECONDS = 60


@workflow.defn
class ThreeRuns:
    @workflow.run
    async def run(self, number: int) -> int:
        if number < 3:
            workflow.continue_as_new(number + 1)
        return number


@pytest.fixture
async def client(temporal_server: TemporalServer) -> AsyncIterator[Client]:
    client = await client_of(temporal_server)
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue=QUEUE, workflows=[ThreeRuns], workflow_runner=runner):
        yield client


async def test_story_begins_with_the_first_run_or_says_that_it_is_removed(client: Client) -> None:
    workflow_id = f"three-runs-{uuid.uuid4()}"
    first = await client.start_workflow(ThreeRuns.run, 1, id=workflow_id, task_queue=QUEUE)
    assert await first.result() == 3
    last = (await client.get_workflow_handle(workflow_id).describe()).run_id

    whole = await read_story(client, workflow_id, last)
    assert [(one.what, one.times) for one in whole.episodes] == [
        ("started", 1),
        ("continued as new", 2),
        ("completed", 1),
    ]
    assert not whole.lacks_beginning

    await client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(
                workflow_id=workflow_id, run_id=first.first_execution_run_id or ""
            ),
        )
    )
    rest = await _read_without_the_first_run(client, workflow_id, last)
    assert [(one.what, one.times) for one in rest.episodes] == [
        ("started", 1),
        ("continued as new", 1),
        ("completed", 1),
    ]


async def _read_without_the_first_run(client: Client, workflow_id: str, run_id: str) -> Story:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (story := await read_story(client, workflow_id, run_id)).lacks_beginning:  # noqa: ASYNC110  Temporal deletes in the background
            await asyncio.sleep(0.05)
    return story
