"""IncidentList: which incidents there are, as Temporal lists them, newest first.

Temporal filters by what it has an index for; the rest is filtered here. A list may miss what began or ended
within the last second.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.client import Client, WorkflowExecution

from cli.incident_summary import IncidentSummary
from cli.parameters import NameFilter, is_cluster_called, quoted
from health.kinds.registry import CHECK_KINDS
from health.model.kind_names import kind_name
from health.model.references import IncidentReference
from objects.timestamps import stamp
from runtime import search_attributes
from runtime.listed_incidents import listed_incident
from runtime.task_failures import REPORTED_PROBLEMS, TASK_FAILED
from workflows.messages import WORKFLOW

RPC_TIMEOUT = timedelta(seconds=10)


@dataclass(frozen=True)
class Filter:
    """Which incidents; "" is any."""

    check: str = ""
    """Its name, with or without kind and namespace."""
    target: str = ""
    """Its name, with or without kind and namespace."""
    cluster: str = ""
    """Its identity ("prod-1a2b3c4d"), or the configured name in front of it ("prod")."""
    workflow_id: str = ""

    def takes(self, incident: IncidentReference) -> bool:
        """Whether this is the cluster, the check and the target."""
        is_here = is_cluster_called(self.cluster, incident.cluster)
        return is_here and self._check.takes(incident.check) and self._target.takes(incident.target)

    @property
    def words(self) -> str:
        """Of what, for a sentence that says that nothing was found; "": of anything."""
        named = (("check", self.check), ("target", self.target), ("cluster", self.cluster))
        return "".join(f" of {what} {name!r}" for what, name in named if name)

    @property
    def query(self) -> str:
        """The part that Temporal filters by."""
        parts = [f"WorkflowType = '{WORKFLOW}'"]
        parts += [named.query for named in (self._check, self._target) if named.name]
        if self.workflow_id:
            parts.append(f"WorkflowId = {quoted(self.workflow_id)}")
        return " AND ".join(parts)

    @property
    def _check(self) -> NameFilter:
        kinds = tuple((kind_name(kind.group_kind), kind.is_namespaced) for kind in CHECK_KINDS.values())
        return NameFilter(search_attributes.CHECK.name, self.check, kinds)

    @property
    def _target(self) -> NameFilter:
        targets = dict.fromkeys(kind.targets for kind in CHECK_KINDS.values())
        kinds = tuple((kind_name(kind.group_kind), kind.is_namespaced) for kind in targets)
        return NameFilter(search_attributes.TARGET.name, self.target, kinds)


async def open_incidents(client: Client, wanted: Filter) -> list[IncidentSummary]:
    """The incidents that run.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    query = f"{wanted.query} AND ExecutionStatus = 'Running'"
    return [summary async for summary in _list(client, query, wanted)]


async def closed_incidents(client: Client, wanted: Filter, limit: int) -> list[IncidentSummary]:
    """The newest `limit` incidents that have ended.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    query = f"{wanted.query} AND ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"
    found: list[IncidentSummary] = []
    async for summary in _list(client, query, wanted):
        if len(found) == limit:
            break
        found.append(summary)
    return found


async def ended_since(client: Client, wanted: Filter, since: datetime) -> list[IncidentSummary]:
    """All incidents that have ended since then.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    ended = "ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"
    query = f"{wanted.query} AND {ended} AND CloseTime >= '{stamp(since)}'"
    return [summary async for summary in _list(client, query, wanted)]


async def _list(client: Client, query: str, wanted: Filter) -> AsyncIterator[IncidentSummary]:
    async for execution in client.list_workflows(query, rpc_timeout=RPC_TIMEOUT):
        listed = await listed_incident(execution)
        incident = listed.as_named
        if incident is not None and wanted.takes(incident):
            yield _summary(execution, incident, listed.unreadable)


def _summary(execution: WorkflowExecution, incident: IncidentReference, unreadable: str) -> IncidentSummary:
    status = execution.status.name if execution.status else "UNKNOWN"
    closed = execution.close_time
    return IncidentSummary(
        incident=incident,
        run_id=execution.run_id,
        status=status.title().replace("_", ""),
        started=execution.start_time.astimezone(UTC),
        closed=closed.astimezone(UTC) if isinstance(closed, datetime) else None,
        unreadable=unreadable,
        has_task_failures=TASK_FAILED in execution.typed_search_attributes.get(REPORTED_PROBLEMS, ()),
    )
