"""ClusterWorkflows: aborts and ends the open incidents of a cluster, and its upgrade pause.

It remembers the incidents, because the Leases that they held are ours and are removed later.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import typer
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.orders import GivenOrder, send
from cli.incidents.state_queries import AT_ONCE, StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import Filter, open_incidents
from cli.retire.identification import Traces
from cli.shared.connection import RPC_TIMEOUT
from cli.shared.errors import CommandError, NotFoundError, UsageError
from cli.shared.known_clusters import known_clusters
from cli.shared.parameters import quoted
from cli.shared.terminal import plain
from health.model.moves import Phase
from health.model.references import IncidentReference
from health.runbook.orders import AbortOrder
from kube.bounded import bounded
from runtime.listed_incidents import listed_incident
from runtime.polling import queue_pollers
from runtime.problems import one_sentence
from runtime.strangers import Stranger, strangers
from runtime.temporal_trouble import is_for_all
from workflows.contracts import OBSERVE, worker_queue
from workflows.messages import WORKFLOW
from workflows.notification_contracts import NOTIFICATION, NOTIFY
from workflows.upgrade_contracts import OBSERVE_UPGRADE, upgrade_pause_id


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
        problem = IncidentStep(IncidentAction.WAIT, summary.problem)
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
    """The open workflows of one cluster, by its identity."""

    def __init__(
        self,
        client: Client,
        cluster: str,
        reason: str,
        *,
        is_handed_over: bool,
    ) -> None:
        """`reason` is recorded in each aborted or ended workflow."""
        self._client = client
        self._cluster = cluster
        self._reason = reason
        self._is_handed_over = is_handed_over
        self._aborted: set[str] = set()
        self._open = 0
        self.incidents: set[IncidentReference] = set()
        """The incidents that were seen open so far."""
        self.adopted: dict[str, IncidentReference] = {}
        """By uid, the requests that incidents report as created or adopted."""

    @property
    def progress(self) -> str:
        return f"{len(self.incidents) - self._open} of {len(self.incidents)} incidents have ended"

    async def note_open(self) -> list[IncidentSummary]:
        """List the open incidents and remember them.

        Raises:
            UsageError: one is encrypted with an unknown key, so it cannot receive an order.
            RPCError: Temporal cannot be asked.

        """
        listed = await open_incidents(self._client, Filter(cluster=self._cluster))
        # The filter also finds clusters of a like name.
        summaries = [summary for summary in listed if summary.incident.cluster == self._cluster]
        unreadable = next((summary for summary in summaries if summary.unreadable), None)
        if unreadable is not None and not self._is_handed_over:
            raise UsageError(f"{unreadable.incident.workflow_id}: {unreadable.unreadable}")
        self.incidents |= {summary.incident for summary in summaries}
        self._open = len(summaries)
        return summaries

    @property
    def namespace(self) -> str:
        return self._client.namespace

    async def traces(self) -> dict[str, Traces]:
        """The number of workflows for each name of this cluster.

        Raises:
            RPCError: Temporal cannot be asked.

        """
        uid = self._cluster.rpartition("-")[2]
        names = {name for name in await known_clusters(self._client) if name.rpartition("-")[2] == uid}
        counted = {
            name: Traces(open=await self._count(name, "="), closed=await self._count(name, "!="))
            for name in sorted(names | {self._cluster})
        }
        return {name: traces for name, traces in counted.items() if traces.open or traces.closed}

    async def _count(self, cluster: str, comparison: str) -> int:
        query = f"ParamedicCluster = {quoted(cluster)} AND ExecutionStatus {comparison} 'Running'"
        return (await self._client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)).count

    async def terminated(self) -> frozenset[IncidentReference]:
        """The incidents that were terminated earlier, within the retention."""
        query = (
            f"WorkflowType = '{WORKFLOW}' AND ParamedicCluster = {quoted(self._cluster)}"
            " AND ExecutionStatus = 'Terminated'"
        )
        listed = [
            await listed_incident(workflow)
            async for workflow in self._client.list_workflows(query, rpc_timeout=RPC_TIMEOUT)
        ]
        return frozenset(incident.as_named for incident in listed if incident.as_named is not None)

    async def advance(self) -> tuple[str, ...]:
        """Take the next step of each open incident. Returns the reasons to wait."""
        listed = await self.note_open()
        if not listed:
            return (
                *await self._end_strangers(),
                *await self._end_all(NOTIFICATION, "Paramedic no longer sends notifications"),
                *await self._end_upgrade_pause(),
            )
        has_worker = bool((await queue_pollers(self._client, worker_queue(self._cluster))).builds)
        answered = (
            await StateQueries(self._client).all(listed)
            if has_worker and not self._is_handed_over
            else listed
        )
        for summary in answered:
            requests = summary.state.memory.requests if summary.state else ()
            self.adopted |= {request.uid: summary.incident for request in requests}
        waits = await bounded(
            AT_ONCE, lambda summary: self._advance(summary, has_worker=has_worker), answered
        )
        still_open = tuple(wait for wait in waits if wait)
        self._open = len(still_open)
        return still_open

    async def _advance(self, summary: IncidentSummary, *, has_worker: bool) -> str:
        """Take its next step. Returns the reason to wait, "" if it has ended; an error stops no other."""
        try:
            return await self._take_step(summary, has_worker=has_worker)
        except CommandError as error:
            return str(error)
        except RPCError as error:
            if is_for_all(error):
                raise
            return f"{summary.incident.workflow_id}: {one_sentence(error)}"

    async def _take_step(self, summary: IncidentSummary, *, has_worker: bool) -> str:
        step = next_step(
            summary,
            is_handed_over=self._is_handed_over,
            has_worker=has_worker,
            was_abort_sent=summary.incident.workflow_id in self._aborted,
        )
        incident = summary.incident
        name = f"{incident.check.name}/{incident.target.name}"
        match step.action:
            case IncidentAction.ABORT:
                return await self._abort(summary, name)
            case IncidentAction.END:
                return await self._end(incident.workflow_id, name, step.why)
            case IncidentAction.WAIT:
                return f"{name}: {step.why}"

    async def _abort(self, summary: IncidentSummary, name: str) -> str:
        try:
            answer = await send(
                self._client, summary, GivenOrder(AbortOrder(reason=self._reason), self._cluster)
            )
        except NotFoundError:
            return ""
        self._aborted.add(summary.incident.workflow_id)
        typer.echo(plain(f"{name}: {answer}"))
        return f"{name}: it cleans up"

    async def strangers(self) -> list[Stranger]:
        """The open workflows under an id other than that of their incident or cluster.

        Raises:
            RPCError: Temporal cannot be asked.

        """
        return await strangers(self._client, [self._cluster], RPC_TIMEOUT)

    async def _end_strangers(self) -> tuple[str, ...]:
        """End them; a worker would end them before their first action, so they own nothing in the cluster."""
        why = "its id is not that of what it is about"
        waits = [
            await self._end(stranger.workflow_id, str(stranger), why) for stranger in await self.strangers()
        ]
        return tuple(wait for wait in waits if wait)

    async def _end_all(self, workflow_type: str, why: str) -> tuple[str, ...]:
        """End all of a type; annotations that started them are removed as objects of ours."""
        query = (
            f"WorkflowType = '{workflow_type}' AND ParamedicCluster = {quoted(self._cluster)}"
            " AND ExecutionStatus = 'Running'"
        )
        listed = self._client.list_workflows(query, rpc_timeout=RPC_TIMEOUT)
        waits = [await self._end(execution.id, execution.id, why) async for execution in listed]
        return tuple(wait for wait in waits if wait)

    async def _end_upgrade_pause(self) -> tuple[str, ...]:
        """End it; the checks that it has paused are unpaused as objects of ours."""
        why = "Paramedic no longer pauses checks"
        wait = await self._end(upgrade_pause_id(self._cluster), "the upgrade pause", why)
        return (wait,) if wait else ()

    async def _end(self, workflow_id: str, name: str, why: str) -> str:
        """Terminate it unless an activity is at work. Returns the reason to wait, "" if it has ended."""
        handle = self._client.get_workflow_handle(workflow_id)
        try:
            found = await handle.describe(rpc_timeout=RPC_TIMEOUT)
            if found.status is not WorkflowExecutionStatus.RUNNING:
                return ""
            if acts := at_work(found.raw_description.pending_activities):
                return f"{name}: {', '.join(acts)} is at work"
            await handle.terminate(reason=f"{self._reason}: {why}", rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return ""
            raise
        typer.echo(plain(f"{name} has ended: {why}"))
        return ""


class NoWorkflows:
    """The interface of `ClusterWorkflows` without Temporal: all answers are empty."""

    progress = "Temporal is not asked"
    namespace = ""

    def __init__(self) -> None:
        self.incidents: frozenset[IncidentReference] = frozenset()
        self.adopted: dict[str, IncidentReference] = {}

    async def note_open(self) -> list[IncidentSummary]:
        return []

    async def traces(self) -> dict[str, Traces]:
        return {}

    async def terminated(self) -> frozenset[IncidentReference]:
        return frozenset()

    async def strangers(self) -> list[Stranger]:
        return []

    async def advance(self) -> tuple[str, ...]:
        return ()
