"""Finds open workflows whose workflow task keeps failing, as Temporal reports them.

An exception in workflow code fails the workflow task, which Temporal retries for ever: nothing is lost, and a
worker with other code continues. After some failures in a row (five by default, which takes a minute)
Temporal sets a search attribute of its own, and removes it after the next success. Servers before 1.30 lack
that attribute, and newer ones can be configured not to set it.
"""

from collections.abc import Iterable
from datetime import timedelta
from types import MappingProxyType

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey

from runtime import search_attributes
from workflows.messages import WORKFLOW
from workflows.notification import NOTIFICATION
from workflows.upgrade_contracts import UPGRADE_PAUSE

EVERY_WORKFLOW = MappingProxyType(
    {
        WORKFLOW: ("paramedic_failing_incidents", "Open incidents"),
        UPGRADE_PAUSE: ("paramedic_failing_upgrade_pauses", "Open upgrade pauses"),
        NOTIFICATION: ("paramedic_failing_notifications", "Open notifications"),
    }
)
"""The workflow types of our workers, each with the metric of its failing workflows and its subject."""
REPORTED_PROBLEMS = SearchAttributeKey.for_keyword_list("TemporalReportedProblems")
TASK_FAILED = "category=WorkflowTaskFailed"


async def are_reported(client: Client, rpc_timeout: timedelta) -> bool:
    """True if this namespace sets the attribute; raises RPCError."""
    request = DescribeNamespaceRequest(namespace=client.namespace)
    answer = await client.workflow_service.describe_namespace(request, timeout=rpc_timeout)
    return answer.namespace_info.capabilities.reported_problems_search_attribute


async def counts(client: Client, cluster: str, rpc_timeout: timedelta) -> dict[str, int]:
    """The number of failing workflows of each type in a cluster; empty if Temporal does not report them.

    Visibility queries have a low limit for each namespace, so types are counted only while one fails.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    if not await are_reported(client, rpc_timeout):
        return {}

    async def count(*workflows: str) -> int:
        return (await client.count_workflows(failing(workflows, (cluster,)), rpc_timeout=rpc_timeout)).count

    if not await count(*EVERY_WORKFLOW):
        return dict.fromkeys(EVERY_WORKFLOW, 0)
    return {workflow: await count(workflow) for workflow in EVERY_WORKFLOW}


def failing(workflow_types: Iterable[str], clusters: Iterable[str]) -> str:
    """The query for failing workflows of these clusters, by identity."""
    return (
        f"WorkflowType IN ({search_attributes.quoted(*workflow_types)}) AND ExecutionStatus = 'Running'"
        f" AND {search_attributes.CLUSTER.name} IN ({search_attributes.quoted(*clusters)})"
        f" AND {REPORTED_PROBLEMS.name} = '{TASK_FAILED}'"
    )
