from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from devcluster.temporal import RETENTION, TemporalServer
from devcluster.temporal import temporal_server as run_temporal_server

pytestmark = pytest.mark.cluster


async def connect(server: TemporalServer) -> Client:
    return await Client.connect(server.address, namespace=server.namespace)


async def test_history_is_kept_for_30_days(temporal_server: TemporalServer) -> None:
    client = await connect(temporal_server)
    question = DescribeNamespaceRequest(namespace=client.namespace)
    answer = await client.workflow_service.describe_namespace(question)
    assert answer.config.workflow_execution_retention_ttl.ToTimedelta() == RETENTION


async def test_a_restart_goes_on_with_the_workflows(tmp_path: Path) -> None:
    async with run_temporal_server(tmp_path) as first:
        await (await connect(first)).start_workflow("Nobody", id="kept", task_queue="nobody")
    async with run_temporal_server(tmp_path) as second:
        description = await (await connect(second)).get_workflow_handle("kept").describe()
    assert description.workflow_type == "Nobody"
    assert second == first
