"""IncidentCalls: the calls to Temporal that start, wake and list incidents."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus, WorkflowQueryFailedError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from health.gate.back_off import EndedAttempt
from health.model.incident_result import EndedRemediation, IncidentResult
from health.model.observation import Observation
from health.model.references import IncidentReference
from health.model.target import TargetName, owner_name
from health.runbook.escalation import is_classic
from health.runbook.state import Memory
from kube.time_slice import TimeSlice
from objects.bounds import bounded_time
from objects.short_text import listed
from runtime import search_attributes
from runtime.guard import Guard
from runtime.listed_incidents import UNREADABLE, ListedIncident, listed_incident
from runtime.payload_codec import UnreadablePayload
from runtime.problems import Problems, one_sentence, retry_forever
from workflows.contracts import worker_queue
from workflows.messages import (
    ATTEMPT,
    ATTEMPT_ENDED,
    EARLIER_ATTEMPT_MEMO,
    INCIDENT_MEMO,
    REPLACED_BY_MEMO,
    WAKE,
    WORKFLOW,
    EarlierAttempt,
    RemediationInput,
    State,
    Wake,
)

RPC_TIMEOUT = timedelta(seconds=5)
VISIBLE_AFTER = timedelta(seconds=30)
"""How long lists may miss a started workflow: visibility is eventually consistent."""
BY_NAME_TIMEOUT = timedelta(seconds=2)
"""For a question that a start does without when visibility does not answer."""
MOST_ATTEMPTS = 10**9 - 1
"""Limit of attempts in a row, as any client of Temporal can write any number into a search attribute."""


@dataclass(frozen=True)
class ListedEnd:
    """The end of a remediation, as its incident has noted it."""

    incident: IncidentReference | None
    """The incident by its memo, else by its id or search attributes; None for a foreign id."""
    attempt: EndedAttempt
    owner: str | None
    """The owner that replaces the target; None without one."""
    unreadable: str | None
    """Why the incident, which may name an owner, cannot be decrypted; None if it can."""

    @property
    def attempts(self) -> tuple[tuple[TargetName, EndedAttempt], ...]:
        """The attempt under the name of the target, and of the owner that replaces the target."""
        if self.incident is None:
            return ()
        target = self.incident.target
        names = TargetName.of(target), *([owner_name(target.namespace, self.owner)] if self.owner else [])
        return tuple((name, self.attempt) for name in names)


class IncidentCalls:
    """The calls of one detector; each raises RPCError."""

    def __init__(self, client: Callable[[], Client], cluster: str, guard: Guard | None = None) -> None:
        """`client` is called for each request, and raises RPCError while there is no connection."""
        self._client = client
        self._cluster = cluster
        self._guard = guard or Guard()
        self._strangers = Problems("an incident is known only by its workflow id")
        self._unread = Problems("an incident begins with the first step, as the one before it cannot be read")

    async def start(
        self, incident: IncidentReference, observation: Observation, earlier: EarlierAttempt | None = None
    ) -> None:
        """Start the incident with its observation, or wake it if it is open.

        An open incident ends at any moment, so it is woken by a call that starts it if it has ended. A start
        needs no signal, which would be one more action of Temporal.

        `earlier` is the latest remediation of the target, for `latest_attempts`; None: it is unknown. Where
        steps follow each other, a new incident begins with what the one before it tells (rule 64).
        """
        memory = Memory()
        if not is_classic(observation):
            latest = await self._latest(incident.workflow_id)
            if latest is not None and latest.status is WorkflowExecutionStatus.RUNNING:
                if await self._is_woken(incident):
                    return
                latest = await self._latest(incident.workflow_id)
            if latest is None and observation.is_new:
                latest = await self._of_an_earlier_object(incident)
            memory = Memory(earlier=await self._earlier(latest, observation.seen_at or datetime.now(UTC)))
        memo = {INCIDENT_MEMO: incident, REPLACED_BY_MEMO: observation.replaced_by}
        if earlier is not None:
            memo[EARLIER_ATTEMPT_MEMO] = earlier
        start = partial(
            self._client().start_workflow,
            WORKFLOW,
            RemediationInput(incident=incident, observation=observation, memory=memory),
            id=incident.workflow_id,
            task_queue=worker_queue(self._cluster),
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            memo=memo,
            search_attributes=search_attributes.of_incident(incident),
            static_summary=f"{incident.target.name}: {incident.check}",
            static_details=_details(incident, observation),
            rpc_timeout=RPC_TIMEOUT,
        )
        try:
            await start(id_conflict_policy=WorkflowIDConflictPolicy.FAIL)
        except WorkflowAlreadyStartedError:
            await start(
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                start_signal=WAKE,
                start_signal_args=[Wake(seen_at=observation.seen_at)],
            )

    async def latest_attempts(self, incident: IncidentReference) -> tuple[EndedAttempt, ...] | None:
        """The latest remediation of an object, if there was one, as its latest incident tells; needs no list.

        None: the incident does not tell it, for example because its memo cannot be read.

        Raises:
            RPCError: Temporal cannot be asked.

        """
        latest = await self._latest(incident.workflow_id)
        if latest is None:
            return ()
        own = _noted_attempt(latest)
        if own is not None:
            return (own,)
        earlier: EarlierAttempt | None = None
        with suppress(UnreadablePayload, *UNREADABLE):
            earlier = await latest.memo_value(EARLIER_ATTEMPT_MEMO, default=None, type_hint=EarlierAttempt)
        if earlier is None:
            return None
        number = min(earlier.number, MOST_ATTEMPTS)
        return (EndedAttempt(number, earlier.ended, earlier.requested),) if earlier.ended else ()

    async def _latest(self, workflow_id: str) -> WorkflowExecution | None:
        """The latest incident with this id, open or closed; None if there was none."""
        try:
            return await self._client().get_workflow_handle(workflow_id).describe(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def _of_an_earlier_object(self, incident: IncidentReference) -> WorkflowExecution | None:
        """The latest incident of the check and another object of its name; None: none, or no answer.

        Some remediators delete a Node, and its machine registers again under another uid. Temporal lists open
        incidents first, and then the one that was closed last. Visibility may be a second behind.
        """
        attributes = search_attributes.of_incident(incident)
        same = " AND ".join(f"{pair.key.name} = '{pair.value}'" for pair in attributes)
        # A run that went on has another one; a copy of an ended incident has its attributes, and has failed.
        query = (
            f"WorkflowType = '{WORKFLOW}' AND {same} AND ExecutionStatus NOT IN ('ContinuedAsNew', 'Failed')"
        )
        why = None
        try:
            async for found in self._client().list_workflows(query, limit=1, rpc_timeout=BY_NAME_TIMEOUT):
                return await self._latest(found.id)
        except RPCError as error:
            why = one_sentence(error)
        finally:
            self._unread.report("incidents by name", why)
        return None

    async def _is_woken(self, incident: IncidentReference) -> bool:
        """Wake it; False if it has ended meanwhile."""
        try:
            await self.wake(incident)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True

    async def _earlier(self, latest: WorkflowExecution | None, now: datetime) -> EndedRemediation | None:
        """The remediation of the latest incident; None if there is none, or it cannot be read.

        An open incident is for an object of that name that is gone: its remediation is over, a request hangs.
        """
        if latest is not None and latest.status is WorkflowExecutionStatus.RUNNING:
            return await self._of_open(latest, now)
        if latest is None or latest.status is not WorkflowExecutionStatus.COMPLETED:
            return None
        handle = self._client().get_workflow_handle(
            latest.id, run_id=latest.run_id, result_type=IncidentResult
        )
        try:
            result: IncidentResult = await handle.result(follow_runs=False, rpc_timeout=RPC_TIMEOUT)
        except UNREADABLE as error:
            self._unread.report("results of incidents", f"{latest.id}: {one_sentence(error)}")
            return None
        self._unread.report("results of incidents", None)
        return result.remediation

    async def _of_open(self, latest: WorkflowExecution, now: datetime) -> EndedRemediation | None:
        handle, why = self._client().get_workflow_handle(latest.id), None
        try:
            state: State = await handle.query("state", result_type=State, rpc_timeout=RPC_TIMEOUT)
        except (RPCError, WorkflowQueryFailedError, *UNREADABLE) as error:
            why = f"{latest.id}: {one_sentence(error)}"
        else:
            return state.memory.ended_remediation(state.memory.recovery.ended_at or now)
        finally:
            self._unread.report("open incidents", why)
        return None

    async def wake(self, incident: IncidentReference) -> None:
        """Wake an open incident; raises RPCError NOT_FOUND if it has ended."""
        await self.wake_workflow(incident.workflow_id)

    async def wake_workflow(self, workflow_id: str) -> None:
        """Wake an open incident by its id alone; raises RPCError NOT_FOUND if it has ended."""
        handle = self._client().get_workflow_handle(workflow_id)
        await handle.signal(WAKE, rpc_timeout=RPC_TIMEOUT)

    async def running(self) -> list[ListedIncident]:
        """The open incidents of this cluster, as Temporal lists them."""
        query = (
            f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
            f" AND {search_attributes.CLUSTER.name} = '{self._cluster}'"
        )
        found, time_slice = [], TimeSlice()
        async for execution in self._client().list_workflows(query, rpc_timeout=RPC_TIMEOUT):
            with self._guard.item("open incidents", execution.id):
                found.append(await self._identified(execution))
            await time_slice.yield_if_over()  # a page has a thousand
        return found

    async def ended(self, since: datetime) -> list[ListedEnd]:
        """The remediations of this cluster that ended after `since`, as Temporal lists them."""
        query = (
            f"WorkflowType = '{WORKFLOW}' AND {search_attributes.CLUSTER.name} = '{self._cluster}'"
            f" AND {ATTEMPT_ENDED.name} > '{since.astimezone(UTC).isoformat()}'"
            # A copy of an ended incident, under another id, has its search attributes, and has failed.
            " AND ExecutionStatus != 'Failed'"
        )
        found, time_slice = [], TimeSlice()
        async for execution in self._client().list_workflows(query, rpc_timeout=RPC_TIMEOUT):
            await time_slice.yield_if_over()
            with self._guard.item("ended remediations", execution.id):
                listed, attempt = await self._identified(execution), _noted_attempt(execution)
                owner = None
                if not listed.unreadable:
                    owner = await execution.memo_value(REPLACED_BY_MEMO, default="", type_hint=str)
                if attempt is not None:
                    found.append(
                        ListedEnd(listed.as_named, attempt, owner or None, listed.unreadable or None)
                    )
        return found

    async def _identified(self, execution: WorkflowExecution) -> ListedIncident:
        """Read which incident it is from its memo; a missing identity is logged once."""
        listed = await listed_incident(execution)
        if listed.incident is None:
            why = listed.unreadable or "no memo names its incident"
            self._strangers.report(listed.workflow_id, why)
        return listed


async def read_ended(
    read: Callable[[], Awaitable[None]], errors: tuple[type[Exception], ...], problems: Problems
) -> None:
    """Read ended remediations, and once more when visibility must list all of them."""
    await retry_forever("ended remediations", read, errors, problems)
    await asyncio.sleep(VISIBLE_AFTER.total_seconds())
    await retry_forever("ended remediations", read, errors, problems)


def _noted_attempt(execution: WorkflowExecution) -> EndedAttempt | None:
    """The remediation that an ended incident has noted; None if it made none, or is open."""
    ended = execution.typed_search_attributes.get(ATTEMPT_ENDED)
    if ended is None:
        return None
    number = execution.typed_search_attributes.get(ATTEMPT, 1)
    return EndedAttempt(max(1, min(number, MOST_ATTEMPTS)), bounded_time(ended))


def _details(incident: IncidentReference, observation: Observation) -> str:
    """The first observation, as the Temporal UI shows it beside the current details."""
    lines = (
        ("Target", str(incident.target)),
        ("Check", str(incident.check)),
        ("Cluster", incident.cluster),
        ("At the start", observation.named_reason),
    )
    return listed(*lines)
