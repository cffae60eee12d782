"""Lists the incidents of a Temporal namespace, newest first, each as an IncidentSummary.

Temporal filters by its indexed attributes, this module by the rest. Temporal's index is up to a second late.
Each function raises RPCError if Temporal cannot be asked.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.client import Client

from cli.shared.connection import RPC_TIMEOUT
from health.kinds.registry import CHECK_KINDS
from health.model.incident_result import IncidentResult
from health.model.moves import Outcome
from health.model.references import IncidentReference, is_called, kind_name, with_kind
from objects.clusters import is_cluster_called
from objects.group_kind import ServedKind
from objects.short_text import bounded_id
from objects.timestamps import stamp
from runtime import search_attributes
from runtime.listed_incidents import listed_incident
from runtime.search_attributes import quoted
from runtime.task_failures import REPORTED_PROBLEMS, TASK_FAILED
from workflows.messages import ATTEMPT_ENDED, WORKFLOW, State


@dataclass(frozen=True, kw_only=True)
class IncidentSummary:
    """One run of an incident's workflow, open or closed; `IncidentDocument` is made of it for views."""

    incident: IncidentReference
    run_id: str
    status: str
    """Temporal's status: "Running", "Completed", "Terminated", …"""
    started: datetime
    closed: datetime | None = None
    state: State | None = None
    """None before it is queried, if no worker answers, and after the end."""
    result: IncidentResult | None = None
    """The result of its workflow; None while it is open, and if it was terminated."""
    problem: str | None = None
    """Why phase or outcome is unknown."""
    unreadable: str | None = None
    """Why its data in Temporal cannot be read; None if it can."""
    has_task_failures: bool = False
    """Whether Temporal reports that its workflow task keeps failing."""

    @property
    def is_open(self) -> bool:
        return self.closed is None

    @property
    def short_name(self) -> str:
        """The names of check and target, as a person types them."""
        return f"{self.incident.check.name}/{self.incident.target.name}"

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it is open, and if it was terminated."""
        return self.result.outcome if self.result else None

    @property
    def repetition(self) -> str | None:
        """How often in a row its first step alone was taken, in words; None: seldom, or unknown."""
        if self.state is not None:
            return self.state.memory.repetition
        remediation = self.result.remediation if self.result else None
        return (remediation.repetition or None) if remediation else None

    def lasted(self, now: datetime) -> timedelta:
        return (self.closed or now) - self.started


_ENDED = "ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"


@dataclass(frozen=True)
class Filter:
    """Selects incidents by check, target, cluster and workflow id; None matches all."""

    check: str | None = None
    """A name, with or without kind and namespace."""
    target: str | None = None
    """A name, with or without kind and namespace."""
    cluster: str | None = None
    """The identity ("prod-1a2b3c4d"), or the configured name that it begins with ("prod")."""
    workflow_id: str | None = None

    def takes(self, incident: IncidentReference) -> bool:
        return (
            (not self.cluster or is_cluster_called(self.cluster, incident.cluster))
            and (not self.check or is_called(self.check, incident.check))
            and (not self.target or is_called(self.target, incident.target))
        )

    @property
    def words(self) -> str:
        """The filter as a clause for the message that nothing was found; "" without a filter."""
        named = (("check", self.check), ("target", self.target), ("cluster", self.cluster))
        return "".join(f" of {subject} {name!r}" for subject, name in named if name)

    @property
    def query(self) -> str:
        """The part of the filter that Temporal can apply."""
        parts = [f"WorkflowType = '{WORKFLOW}'"]
        if self.check:
            parts.append(named(search_attributes.CHECK.name, self.check, CHECK_KINDS.values()))
        if self.target:
            targets = dict.fromkeys(kind.targets for kind in CHECK_KINDS.values())
            parts.append(named(search_attributes.TARGET.name, self.target, targets))
        if self.workflow_id:
            parts.append(f"WorkflowId = {quoted(self.workflow_id)}")
        return " AND ".join(parts)


def named(attribute: str, name: str, kinds: Iterable[ServedKind]) -> str:
    """A condition of a query for objects of these kinds that a person calls `name`.

    Temporal compares only whole values and prefixes, so it also matches objects in a namespace with other
    names, which `Filter.takes` excludes.
    """
    conditions = []
    for kind in kinds:
        full_kind = kind_name(kind.group_kind)
        if kind.is_namespaced:
            conditions.append(f"{attribute} STARTS_WITH {quoted(f'{full_kind}/')}")
        else:
            own_name = with_kind(name, full_kind).removeprefix(f"{full_kind}/")
            conditions.append(f"{attribute} = {quoted(bounded_id(f'{full_kind}/{own_name}'))}")
    return f"({' OR '.join(conditions)})"


async def open_incidents(client: Client, wanted: Filter) -> list[IncidentSummary]:
    query = f"{wanted.query} AND ExecutionStatus = 'Running'"
    return [summary async for summary in _list(client, query, wanted)]


def of_clusters(identities: Sequence[str]) -> str:
    """A condition of a query for the workflows of clusters with these identities."""
    return f"{search_attributes.CLUSTER.name} IN ({', '.join(map(quoted, identities))})"


async def latest_open_incidents(client: Client, clusters: Sequence[str], limit: int) -> list[IncidentSummary]:
    """At most `limit` running incidents of clusters with these identities, newest first."""
    query = f"{Filter().query} AND {of_clusters(clusters)} AND ExecutionStatus = 'Running'"
    return [summary async for summary in _list(client, query, Filter(), limit)]


async def closed_incidents(client: Client, wanted: Filter, limit: int) -> list[IncidentSummary]:
    found: list[IncidentSummary] = []
    async for summary in _list(client, f"{wanted.query} AND {_ENDED}", wanted):
        if len(found) == limit:
            break
        found.append(summary)
    return found


async def ended_since(client: Client, wanted: Filter, since: datetime) -> list[IncidentSummary]:
    query = f"{wanted.query} AND {_ENDED} AND CloseTime >= '{stamp(since)}'"
    return [summary async for summary in _list(client, query, wanted)]


async def remediated_since(
    client: Client, clusters: Sequence[str], since: datetime, limit: int
) -> list[IncidentSummary]:
    """The newest incidents, at most `limit`, of these clusters that acted and ended since then."""
    ended = f"ExecutionStatus = 'Completed' AND {ATTEMPT_ENDED.name} >= '{stamp(since)}'"
    query = f"{Filter().query} AND {of_clusters(clusters)} AND {ended}"
    return [summary async for summary in _list(client, query, Filter(), limit)]


async def _list(
    client: Client, query: str, wanted: Filter, limit: int | None = None
) -> AsyncIterator[IncidentSummary]:
    async for execution in client.list_workflows(query, limit=limit, rpc_timeout=RPC_TIMEOUT):
        listed = await listed_incident(execution)
        incident = listed.as_named
        if incident is None or not wanted.takes(incident):
            continue
        status, closed = execution.status.name if execution.status else "UNKNOWN", execution.close_time
        yield IncidentSummary(
            incident=incident,
            run_id=execution.run_id,
            status=status.title().replace("_", ""),
            started=execution.start_time.astimezone(UTC),
            closed=closed.astimezone(UTC) if isinstance(closed, datetime) else None,
            unreadable=listed.unreadable,
            has_task_failures=TASK_FAILED in execution.typed_search_attributes.get(REPORTED_PROBLEMS, ()),
        )
