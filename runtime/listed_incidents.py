"""The incident of a workflow that Temporal lists, and open workflows under a wrong id.

Its memo names the incident. A workflow that a person started in the Temporal UI has no memo ("Start Workflow
Like This One" copies input and search attributes only), and a memo may contain anything. Then the id names
the incident, except for a part of the uid: enough to show it and to wake it, but not to judge its target.
Search attributes complete a cut id.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.common.v1 import WorkflowExecution as Execution
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client, WorkflowExecution

from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference, TargetReference, check_of
from objects.frozen import Frozen
from objects.short_text import is_cut
from runtime.payload_codec import UnreadablePayload
from runtime.search_attributes import CHECK, CLUSTER, TARGET, quoted
from workflows.contracts import worker_queue
from workflows.messages import INCIDENT_MEMO, WORKFLOW
from workflows.upgrade_contracts import UPGRADE_PAUSE, upgrade_pause_id

UNREADABLE = (KeyError, ValueError, TypeError, RuntimeError)
"""Errors that payload converters raise for malformed payloads."""
MOST_READ = 100
"""The limit of workflows whose input is read, with one call each."""


@dataclass(frozen=True)
class ListedIncident:
    """One workflow of the type Remediation, with its incident."""

    workflow_id: str
    incident: IncidentReference | None
    """The incident in its memo; None without a memo, or if the memo does not fit the id."""
    named: IncidentReference | None = None
    """The incident by its id or search attributes, with a part of the uid; None for a foreign id."""
    unreadable: str | None = None
    """Why its memo cannot be read; None if it can."""

    @property
    def as_named(self) -> IncidentReference | None:
        """The incident by the memo, else as it is named."""
        return self.incident or self.named


async def listed_incident(execution: WorkflowExecution) -> ListedIncident:
    try:
        incident = await execution.memo_value(INCIDENT_MEMO, None, type_hint=IncidentReference)
    except UnreadablePayload as error:
        return ListedIncident(execution.id, None, _named(execution), str(error))
    except UNREADABLE:
        incident = None
    if incident is not None and incident.workflow_id == execution.id:
        return ListedIncident(execution.id, incident)
    return ListedIncident(execution.id, None, _named(execution))


def _named(execution: WorkflowExecution) -> IncidentReference | None:
    if not is_cut(execution.id):
        return incident_of(execution.id)
    attributes, uid = execution.typed_search_attributes, execution.id.rpartition("/")[2]
    cluster, check, target = (attributes.get(key, "") for key in (CLUSTER, CHECK, TARGET))
    named = incident_of(f"remediation/{cluster}/{check}/{target.rpartition('/')[2]}/{uid}")
    return named if named is not None and named.workflow_id == execution.id else None


def incident_of(full_id: str) -> IncidentReference | None:
    """The incident by its full id, with a part of the uid; None for a foreign id."""
    if not full_id.isprintable():  # it could control a terminal, and is not ours
        return None
    check = check_of(full_id)
    kind = CHECK_KINDS.get(check.group_kind) if check else None
    if check is None or kind is None:
        return None
    _, cluster, *_, name, uid = full_id.split("/")
    of = kind.targets
    target = TargetReference(kind=of.kind, group=of.group, namespace=check.namespace, name=name, uid=uid)
    incident = IncidentReference(cluster=cluster, check=check, target=target)
    return incident if incident.full_id == full_id else None  # an id with a suffix is not ours


class _Subject(Frozen):
    incident: IncidentReference | None = None
    cluster: str | None = None

    @property
    def workflow_id(self) -> str | None:
        if self.incident is not None:
            return self.incident.workflow_id
        return upgrade_pause_id(self.cluster) if self.cluster else None


@dataclass(frozen=True)
class Stranger:
    """An open workflow of our types whose id is not that of its incident or cluster.

    A person creates one with "Start Workflow Like This One" and a new id. A worker of this version fails it
    in its first task. So a stranger that stays open waits for a worker, or runs on an older one: such a
    worker acts on the memory of the stranger.
    """

    workflow_id: str
    expected_id: str | None
    """The id of the workflow of its incident or cluster; None if its input cannot be read."""

    def __str__(self) -> str:
        of = f"a copy of {self.expected_id}" if self.expected_id else "its input cannot be read"
        return f"{self.workflow_id} ({of})"


async def strangers(client: Client, clusters: Iterable[str], rpc_timeout: timedelta) -> list[Stranger]:
    """The strangers of these clusters, by search attribute or by the task queue.

    A copy that a client starts has no search attributes, unless the client sets them. Temporal lists ids,
    search attributes and memos. If the memo fits the id, the workflow is no stranger; otherwise its input is
    read, which names the incident or cluster.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    identities = tuple(clusters)
    query = (
        f"WorkflowType IN ({quoted(WORKFLOW, UPGRADE_PAUSE)})"
        " AND ExecutionStatus = 'Running'"
        f" AND ({CLUSTER.name} IN ({quoted(*identities)})"
        f" OR TaskQueue IN ({quoted(*map(worker_queue, identities))}))"
    )
    found: list[Stranger] = []
    left = MOST_READ
    async for execution in client.list_workflows(query, rpc_timeout=rpc_timeout):
        # Search attribute or memo may confirm the id.
        if execution.workflow_type == UPGRADE_PAUSE:
            cluster = execution.typed_search_attributes.get(CLUSTER)
            fits = cluster is not None and execution.id == upgrade_pause_id(cluster)
        else:
            listed = await listed_incident(execution)
            fits = listed.incident is not None or (
                listed.unreadable is not None and listed.as_named is not None
            )
        if fits:
            continue
        if not left:
            break
        left -= 1
        # Otherwise the input of the workflow names its incident or cluster.
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
            subject = None
        expected = subject.workflow_id if isinstance(subject, _Subject) else None
        found += [Stranger(execution.id, expected)] if expected != execution.id else []
    return found
