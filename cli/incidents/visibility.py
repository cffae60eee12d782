"""Lists the incidents of a Temporal namespace, newest first.

Temporal filters by its indexed attributes, this module by the rest. Temporal's index is up to a second late.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecution

from cli.incidents.summary import IncidentSummary
from cli.shared.connection import RPC_TIMEOUT
from cli.shared.parameters import NameFilter, is_cluster_called, quoted
from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference, kind_name
from objects.timestamps import stamp
from runtime import search_attributes
from runtime.listed_incidents import listed_incident
from runtime.task_failures import REPORTED_PROBLEMS, TASK_FAILED
from workflows.messages import ATTEMPT_ENDED, WORKFLOW


@dataclass(frozen=True)
class Filter:
    """Selects incidents by check, target, cluster and workflow id; "" matches all."""

    check: str = ""
    """A name, with or without kind and namespace."""
    target: str = ""
    """A name, with or without kind and namespace."""
    cluster: str = ""
    """The identity ("prod-1a2b3c4d"), or the configured name that it begins with ("prod")."""
    workflow_id: str = ""

    def takes(self, incident: IncidentReference) -> bool:
        is_here = is_cluster_called(self.cluster, incident.cluster)
        return is_here and self._check.takes(incident.check) and self._target.takes(incident.target)

    @property
    def words(self) -> str:
        """The filter as a clause for the message that nothing was found; "" without a filter."""
        named = (("check", self.check), ("target", self.target), ("cluster", self.cluster))
        return "".join(f" of {subject} {name!r}" for subject, name in named if name)

    @property
    def query(self) -> str:
        """The part of the filter that Temporal can apply."""
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
    """The running incidents.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    query = f"{wanted.query} AND ExecutionStatus = 'Running'"
    return [summary async for summary in _list(client, query, wanted)]


async def latest_open_incidents(
    client: Client, clusters: Sequence[str], limit: int, condition: str = ""
) -> list[IncidentSummary]:
    """At most `limit` running incidents of clusters with these identities, newest first.

    `condition` is a further one of the query.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    here = f"{search_attributes.CLUSTER.name} IN ({', '.join(map(quoted, clusters))})"
    query = " AND ".join(filter(None, (Filter().query, here, "ExecutionStatus = 'Running'", condition)))
    return [summary async for summary in _list(client, query, Filter(), limit)]


async def closed_incidents(client: Client, wanted: Filter, limit: int) -> list[IncidentSummary]:
    """The newest `limit` closed incidents.

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
    """The incidents that closed since then.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    ended = "ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"
    query = f"{wanted.query} AND {ended} AND CloseTime >= '{stamp(since)}'"
    return [summary async for summary in _list(client, query, wanted)]


async def remediated_since(
    client: Client, clusters: Sequence[str], since: datetime, limit: int
) -> list[IncidentSummary]:
    """The newest incidents, at most `limit`, of these clusters that acted and ended since then.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    here = f"{search_attributes.CLUSTER.name} IN ({', '.join(map(quoted, clusters))})"
    ended = f"ExecutionStatus = 'Completed' AND {ATTEMPT_ENDED.name} >= '{stamp(since)}'"
    query = f"{Filter().query} AND {here} AND {ended}"
    return [summary async for summary in _list(client, query, Filter(), limit)]


async def _list(
    client: Client, query: str, wanted: Filter, limit: int | None = None
) -> AsyncIterator[IncidentSummary]:
    async for execution in client.list_workflows(query, limit=limit, rpc_timeout=RPC_TIMEOUT):
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
