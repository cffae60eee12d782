import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from devcluster.temporal import RETENTION, TemporalServer

pytestmark = pytest.mark.cluster


async def connect(server: TemporalServer) -> Client:
    return await Client.connect(server.address, namespace=server.namespace)


async def test_history_is_kept_for_30_days(temporal_server: TemporalServer) -> None:
    client = await connect(temporal_server)
    question = DescribeNamespaceRequest(namespace=client.namespace)
    answer = await client.workflow_service.describe_namespace(question)
    assert answer.config.workflow_execution_retention_ttl.ToTimedelta() == RETENTION
