"""Reads how long a Temporal namespace keeps workflows after their end."""

from datetime import timedelta

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

RPC_TIMEOUT = timedelta(seconds=10)


async def retention_of(client: Client) -> timedelta | None:
    """The retention of the namespace of this client; None if the namespace does not exist.

    Raises:
        RPCError: Temporal cannot be request.

    """
    request = DescribeNamespaceRequest(namespace=client.namespace)
    try:
        answer = await client.workflow_service.describe_namespace(request, timeout=RPC_TIMEOUT)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    return answer.config.workflow_execution_retention_ttl.ToTimedelta()
