"""IncidentCalls: the calls to Temporal by which incidents are started, woken and listed."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from health.back_off import EndedAttempt
from health.observation import Observation
from health.references import IncidentReference
from health.target import TargetName, owner_name
from runtime import search_attributes, task_failures
from workflows.contracts import hands_queue
from workflows.messages import (
    ATTEMPT,
    ATTEMPT_ENDED,
    INCIDENT_MEMO,
    LOOK,
    REPLACED_BY_MEMO,
    WORKFLOW,
    RemediationInput,
    Wake,
)

RPC_TIMEOUT = timedelta(seconds=5)


class IncidentCalls:
    """Calls of one detector; each raises RPCError."""

    def __init__(self, client: Callable[[], Client], cluster: str) -> None:
        """`client` is asked for each call, and raises RPCError while there is no connection."""
        self._client = client
        self._cluster = cluster

    async def start(self, incident: IncidentReference, observation: Observation) -> None:
        """Start the incident with what is seen of it, or wake it if it is open: one call, no race."""
        await self._client().start_workflow(
            WORKFLOW,
            RemediationInput(incident=incident, observation=observation),
            id=incident.workflow_id,
            task_queue=hands_queue(self._cluster),
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            start_signal=LOOK,
            start_signal_args=[Wake(seen_at=observation.seen_at)],
            memo={INCIDENT_MEMO: incident, REPLACED_BY_MEMO: observation.replaced_by},
            search_attributes=search_attributes.of_incident(incident),
            static_summary=f"{incident.target.name}: {incident.check}",
            static_details=observation.reason,
            rpc_timeout=RPC_TIMEOUT,
        )

    async def look(self, incident: IncidentReference) -> None:
        """Wake an open incident; NOT_FOUND if it has ended."""
        handle = self._client().get_workflow_handle(incident.workflow_id)
        await handle.signal(LOOK, rpc_timeout=RPC_TIMEOUT)

    async def running(self) -> list[IncidentReference]:
        """The open incidents of this cluster, as Temporal lists them."""
        query = (
            f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
            f" AND {search_attributes.CLUSTER.name} = '{self._cluster}'"
        )
        return [
            await execution.memo_value(INCIDENT_MEMO, type_hint=IncidentReference)
            async for execution in self._client().list_workflows(query, rpc_timeout=RPC_TIMEOUT)
        ]

    async def failing(self) -> int | None:
        """How many open incidents fail in their own code; None where Temporal does not report it."""
        client = self._client()
        if not await task_failures.are_reported(client, RPC_TIMEOUT):
            return None
        query = task_failures.failing((self._cluster,))
        return (await client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)).count

    async def ended_attempts(self, since: datetime) -> list[tuple[TargetName, EndedAttempt]]:
        """The remediations of this cluster that ended after `since`, as Temporal lists them.

        One of a target that its owner replaces is told of the owner too.
        """
        query = (
            f"WorkflowType = '{WORKFLOW}' AND {search_attributes.CLUSTER.name} = '{self._cluster}'"
            f" AND {ATTEMPT_ENDED.name} > '{since.astimezone(UTC).isoformat()}'"
        )
        found = []
        async for execution in self._client().list_workflows(query, rpc_timeout=RPC_TIMEOUT):
            incident = await execution.memo_value(INCIDENT_MEMO, type_hint=IncidentReference)
            number = execution.typed_search_attributes.get(ATTEMPT, 1)
            ended = execution.typed_search_attributes[ATTEMPT_ENDED]
            found.append((TargetName.of(incident.target), EndedAttempt(number, ended)))
            owner = await execution.memo_value(REPLACED_BY_MEMO, default="", type_hint=str)
            if owner:
                found.append((owner_name(incident.target.namespace, owner), EndedAttempt(number, ended)))
        return found
