from datetime import timedelta

import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from devcluster import temporal
from devcluster.errors import NotReadyError
from devcluster.temporal import NAMESPACE, RETENTION, TemporalServer

pytestmark = pytest.mark.cluster


async def connect(server: TemporalServer) -> Client:
    return await Client.connect(server.address, namespace=server.namespace)


async def test_history_is_kept_for_30_days(temporal_server: TemporalServer) -> None:
    client = await connect(temporal_server)
    question = DescribeNamespaceRequest(namespace=client.namespace)
    answer = await client.workflow_service.describe_namespace(question)
    assert answer.config.workflow_execution_retention_ttl.ToTimedelta() == RETENTION


async def test_server_that_runs_already_gets_the_namespace_with_its_retention_once(
    temporal_server: TemporalServer,
) -> None:
    for _ in range(2):
        attached = await temporal.attach(temporal_server.address)
        assert (attached.address, attached.namespace) == (temporal_server.address, NAMESPACE)
    await test_history_is_kept_for_30_days(attached)


async def test_address_at_which_no_temporal_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporal, "PATIENCE", timedelta(seconds=0.1))
    with pytest.raises(NotReadyError, match=r"Temporal at 127\.0\.0\.1:1 does not serve paramedic"):
        await temporal.attach("127.0.0.1:1")
