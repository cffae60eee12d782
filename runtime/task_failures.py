"""Task failures: which open incidents fail in their own code, as Temporal lists them.

An exception in workflow code fails the workflow task, which Temporal tries again for ever: nothing is lost, a
worker with other code goes on. After some failures in a row (five by default, which takes a minute) Temporal
notes it in a search attribute of its own, and takes it away with the next success. Servers before 1.30 lack
that attribute, and a newer one can be told not to keep it.
"""

from collections.abc import Sequence
from datetime import timedelta

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey

from runtime import search_attributes
from workflows.messages import WORKFLOW

REPORTED_PROBLEMS = SearchAttributeKey.for_keyword_list("TemporalReportedProblems")
TASK_FAILED = "category=WorkflowTaskFailed"


async def are_reported(client: Client, rpc_timeout: timedelta) -> bool:
    """Whether this namespace keeps the attribute; raises RPCError."""
    asked = DescribeNamespaceRequest(namespace=client.namespace)
    answer = await client.workflow_service.describe_namespace(asked, timeout=rpc_timeout)
    return answer.namespace_info.capabilities.reported_problems_search_attribute


def failing(clusters: Sequence[str]) -> str:
    """The query of Temporal for the incidents of these clusters, by identity, that fail now."""
    identities = ", ".join(f"'{cluster}'" for cluster in clusters)
    return (
        f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
        f" AND {search_attributes.CLUSTER.name} IN ({identities})"
        f" AND {REPORTED_PROBLEMS.name} = '{TASK_FAILED}'"
    )
