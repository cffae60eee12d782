"""Finds open workflows of our types whose id is not that of their incident or cluster.

A person creates one with "Start Workflow Like This One" and a new id. A worker of this version fails it in
its first task; one that stays open waits for a worker, or runs on an older one, which acts on its own memory.

Temporal lists ids, search attributes and memos. If the memo fits the id, the workflow is no stranger;
otherwise its input is read, which names the incident or cluster.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.common.v1 import WorkflowExecution as Execution
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client, WorkflowExecution

from health.model.references import IncidentReference
from objects.frozen import Frozen
from runtime import search_attributes
from runtime.listed_incidents import UNREADABLE, listed_incident
from runtime.payload_codec import UnreadablePayload
from workflows.contracts import worker_queue
from workflows.messages import WORKFLOW
from workflows.upgrade_contracts import UPGRADE_PAUSE, upgrade_pause_id

MOST_READ = 100
"""The limit of workflows whose input is read, with one call each."""


class _Subject(Frozen):
    incident: IncidentReference | None = None
    cluster: str = ""

    @property
    def workflow_id(self) -> str:
        if self.incident is not None:
            return self.incident.workflow_id
        return upgrade_pause_id(self.cluster) if self.cluster else ""


@dataclass(frozen=True)
class Stranger:
    """An open workflow under a wrong id."""

    workflow_id: str
    expected_id: str
    """The id of the workflow of its incident or cluster; "" if its input cannot be read."""

    def __str__(self) -> str:
        of = f"a copy of {self.expected_id}" if self.expected_id else "its input cannot be read"
        return f"{self.workflow_id} ({of})"


async def strangers(client: Client, clusters: Iterable[str], rpc_timeout: timedelta) -> list[Stranger]:
    """The strangers of these clusters, by search attribute or by the task queue.

    A copy that a client starts has no search attributes, unless the client sets them.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    identities = tuple(clusters)
    query = (
        f"WorkflowType IN ({_quoted((WORKFLOW, UPGRADE_PAUSE))})"
        " AND ExecutionStatus = 'Running'"
        f" AND ({search_attributes.CLUSTER.name} IN ({_quoted(identities)})"
        f" OR TaskQueue IN ({_quoted(map(worker_queue, identities))}))"
    )
    found: list[Stranger] = []
    left = MOST_READ
    async for execution in client.list_workflows(query, rpc_timeout=rpc_timeout):
        if await _fits(execution):
            continue
        if not left:
            break
        left -= 1
        expected = await _expected_id(client, execution, rpc_timeout)
        found += [Stranger(execution.id, expected)] if expected != execution.id else []
    return found


def _quoted(values: Iterable[str]) -> str:
    return ", ".join(f"'{value}'" for value in values)


async def _fits(execution: WorkflowExecution) -> bool:
    """True if search attribute or memo confirm the id."""
    cluster = execution.typed_search_attributes.get(search_attributes.CLUSTER)
    if execution.workflow_type == UPGRADE_PAUSE:
        return cluster is not None and execution.id == upgrade_pause_id(cluster)
    listed = await listed_incident(execution)
    return listed.incident is not None or (bool(listed.unreadable) and listed.as_named is not None)


async def _expected_id(client: Client, execution: WorkflowExecution, rpc_timeout: timedelta) -> str:
    request = GetWorkflowExecutionHistoryRequest(
        namespace=client.namespace,
        execution=Execution(workflow_id=execution.id, run_id=execution.run_id),
        maximum_page_size=1,
    )
    answer = await client.workflow_service.get_workflow_execution_history(request, timeout=rpc_timeout)
    start = answer.history.events[0].workflow_execution_started_event_attributes
    try:
        (subject,) = await client.data_converter.decode(start.input.payloads, [_Subject])
    except (UnreadablePayload, *UNREADABLE):
        return ""
    return subject.workflow_id if isinstance(subject, _Subject) else ""
