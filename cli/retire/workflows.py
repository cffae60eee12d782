"""ClusterWorkflows: aborts and ends the open incidents of a cluster, and then its other workflows."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import typer
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.orders import GivenOrder, send
from cli.incidents.state_queries import AT_ONCE, StateQueries
from cli.incidents.visibility import Filter, IncidentSummary, open_incidents
from cli.shared.connection import RPC_TIMEOUT
from cli.shared.errors import CommandError, NotFoundError, UsageError
from cli.shared.known_clusters import known_clusters
from cli.shared.terminal import plain
from health.model.moves import Phase
from health.runbook.orders import AbortOrder
from kube.rate_limiter import bounded
from runtime.listed_incidents import listed_incident
from runtime.polling import queue_pollers
from runtime.problems import one_sentence
from runtime.search_attributes import quoted
from runtime.temporal_trouble import is_for_all
from workflows.contracts import OBSERVE, worker_queue
from workflows.notification import NOTIFY
from workflows.upgrade_contracts import OBSERVE_UPGRADE


class IncidentAction(StrEnum):
    """The action of `retire` on an incident in one round."""

    ABORT = "abort"
    END = "end"
    WAIT = "wait"


@dataclass(frozen=True)
class IncidentStep:
    """The action on an incident, with the reason in words."""

    action: IncidentAction
    why: str


def next_step(
    summary: IncidentSummary, *, is_handed_over: bool, has_worker: bool, was_abort_sent: bool
) -> IncidentStep:
    """The next step for an open incident; `was_abort_sent`: this command has sent `abort` already.

    The first row that fits wins:

    | state                                       | next step                                          |
    |---------------------------------------------|----------------------------------------------------|
    | handed over                                 | end: requests and Leases stay for the operators    |
    | no worker polls, or its workflow task fails | end: it cannot obey; `retire` removes its objects  |
    | no order to abort is known                  | abort                                              |
    | it is unknown whether it obeyed             | wait                                               |
    | it is left alone, or has tried to clean up  | end: `retire` waits for objects that remain        |
    | else                                        | wait                                               |

    To end means to terminate, and only while none of its activities runs or is scheduled, so that none of
    them acts later. Temporal times out the activity of a killed worker after a while.
    """
    if is_handed_over:
        return IncidentStep(IncidentAction.END, "what exists is left to the operators")
    if not has_worker:
        return IncidentStep(IncidentAction.END, "no worker is there that could clean up")
    if summary.has_task_failures:
        return IncidentStep(IncidentAction.END, "its code fails, so it cannot clean up")
    if summary.state is None:
        problem = IncidentStep(IncidentAction.WAIT, summary.problem or "")
        return problem if was_abort_sent else IncidentStep(IncidentAction.ABORT, "so that it cleans up")
    if summary.state.memory.left_alone is None:
        return IncidentStep(IncidentAction.ABORT, "so that it cleans up")
    if summary.state.phase == Phase.LEFT_ALONE or summary.state.memory.clean_up_at is not None:
        return IncidentStep(IncidentAction.END, "it has cleaned up")
    return IncidentStep(
        IncidentAction.WAIT, f"{summary.state.phase}: {summary.state.why.beside_subject.lasting}"
    )


_READS = {OBSERVE.name, OBSERVE_UPGRADE.name, NOTIFY.name}
"""Activities that change nothing in the cluster; without a detector or worker they stay pending."""


def at_work(pending: Iterable[PendingActivityInfo]) -> list[str]:
    """The pending activities that change the cluster now, or may at any moment.

    A worker may have started a scheduled activity when the workflow is terminated. Each times out within a
    minute (`workflows/contracts.py`).
    """
    return sorted({activity.activity_type.name for activity in pending} - _READS)


class ClusterWorkflows:
    """The open workflows of one cluster, by its identity; each method raises RPCError."""

    def __init__(self, client: Client, cluster: str, reason: str, *, is_handed_over: bool) -> None:
        """`reason` is recorded in each aborted or ended workflow."""
        self._client = client
        self._cluster = cluster
        self._reason = reason
        self._is_handed_over = is_handed_over
        self._aborted: set[str] = set()
        self._seen: set[str] = set()
        """The incidents that were open so far."""
        self._open = 0

    @property
    def progress(self) -> str:
        return f"{len(self._seen) - self._open} of {len(self._seen)} incidents have ended"

    async def note_open(self) -> list[IncidentSummary]:
        """List the open incidents.

        Raises:
            UsageError: one is encrypted with an unknown key, so it cannot receive an order.

        """
        listed = await open_incidents(self._client, Filter(cluster=self._cluster))
        # The filter also finds clusters of a like name.
        summaries = [summary for summary in listed if summary.incident.cluster == self._cluster]
        unreadable = next((summary for summary in summaries if summary.unreadable), None)
        if unreadable is not None and not self._is_handed_over:
            raise UsageError(f"{unreadable.incident.workflow_id}: {unreadable.unreadable}")
        self._seen |= {summary.incident.workflow_id for summary in summaries}
        self._open = len(summaries)
        return summaries

    @property
    def namespace(self) -> str:
        return self._client.namespace

    async def clusters_at_work(self) -> list[str]:
        return await known_clusters(self._client, "ExecutionStatus = 'Running'")

    async def others(self) -> list[str]:
        """The ids of the open workflows that are no incident: notifications, the upgrade pause, copies.

        A worker would end a copy of an incident before its first action. A client starts copies without
        search attributes, so the task queue counts, too.
        """
        cluster, queue = quoted(self._cluster), quoted(worker_queue(self._cluster))
        query = f"(ParamedicCluster = {cluster} OR TaskQueue = {queue}) AND ExecutionStatus = 'Running'"
        listed = self._client.list_workflows(query, rpc_timeout=RPC_TIMEOUT)
        found = [(await listed_incident(workflow), workflow) async for workflow in listed]
        return [workflow.id for incident, workflow in found if incident.as_named is None]

    async def advance(self) -> tuple[str, ...]:
        """Take the next step of each open incident. Returns the reasons to wait."""
        listed = await self.note_open()
        if not listed:
            why = "nothing of Paramedic goes on here"
            ended = [await self._end(other, other, why) for other in await self.others()]
            return tuple(wait for wait in ended if wait)
        has_worker = bool((await queue_pollers(self._client, worker_queue(self._cluster))).builds)
        if has_worker and not self._is_handed_over:
            listed = await StateQueries(self._client).all(listed)
        waits = await bounded(AT_ONCE, lambda summary: self._advance(summary, has_worker=has_worker), listed)
        still_open = tuple(wait for wait in waits if wait)
        self._open = len(still_open)
        return still_open

    async def _advance(self, summary: IncidentSummary, *, has_worker: bool) -> str | None:
        """Take its next step. Returns the reason to wait, None if it has ended; an error stops no other."""
        workflow_id, name = summary.incident.workflow_id, summary.short_name
        step = next_step(
            summary,
            is_handed_over=self._is_handed_over,
            has_worker=has_worker,
            was_abort_sent=workflow_id in self._aborted,
        )
        try:
            match step.action:
                case IncidentAction.END:
                    return await self._end(workflow_id, name, step.why)
                case IncidentAction.WAIT:
                    return f"{name}: {step.why}"
                case IncidentAction.ABORT:
                    order = GivenOrder(AbortOrder(reason=self._reason), self._cluster)
                    answer = await send(self._client, summary, order)
        except NotFoundError:  # it has ended meanwhile
            return None
        except CommandError as error:
            return str(error)
        except RPCError as error:
            if is_for_all(error):
                raise
            return f"{workflow_id}: {one_sentence(error)}"
        self._aborted.add(workflow_id)
        typer.echo(plain(f"{name}: {answer}"))
        return f"{name}: it cleans up"

    async def _end(self, workflow_id: str, name: str, why: str) -> str | None:
        """Terminate it unless an activity is at work. Returns the reason to wait, None if it has ended."""
        handle = self._client.get_workflow_handle(workflow_id)
        try:
            found = await handle.describe(rpc_timeout=RPC_TIMEOUT)
            if found.status is not WorkflowExecutionStatus.RUNNING:
                return None
            if acts := at_work(found.raw_description.pending_activities):
                return f"{name}: {', '.join(acts)} is at work"
            await handle.terminate(reason=f"{self._reason}: {why}", rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        typer.echo(plain(f"{name} has ended: {why}"))
        return None


class NoWorkflows:
    """The interface of `ClusterWorkflows` without Temporal: all answers are empty."""

    progress = "Temporal is not asked"
    namespace = ""

    async def note_open(self) -> list[IncidentSummary]:
        return []

    async def clusters_at_work(self) -> list[str]:
        return []

    async def others(self) -> list[str]:
        return []

    async def advance(self) -> tuple[str, ...]:
        return ()
