"""Findings about notifications: receivers that do not get them, and why."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from temporalio.api.failure.v1 import Failure
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)

from cli.doctor.finding import Finding, warning
from cli.shared.parameters import quoted
from objects.timestamps import stamp
from runtime import search_attributes
from runtime.payload_codec import UnreadablePayload
from workflows.notification_contracts import NOTIFICATION

LATE = timedelta(minutes=1)
"""A notification that is sent at once has ended by then."""
LOOKED_BACK = timedelta(hours=24)
MOST_LISTED = 100
"""The latest notifications among which each receiver is looked for."""
ADVICE = (
    "the log of the workers names receiver and problem; see docs/runbook/alerts.md#paramedicnotificationsfail"
)


async def notification_findings(
    client: Client, clusters: Sequence[str], now: datetime, rpc_timeout: timedelta
) -> list[Finding]:
    """A warning if notifications of these clusters wait, or were given up within a day.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    of_clusters = f"{search_attributes.CLUSTER.name} IN ({', '.join(map(quoted, clusters))})"
    ours = f"WorkflowType = '{NOTIFICATION}' AND {of_clusters}"
    late = f"{ours} AND ExecutionStatus = 'Running' AND StartTime < '{stamp(now - LATE)}'"
    given_up = f"{ours} AND ExecutionStatus = 'Failed' AND CloseTime > '{stamp(now - LOOKED_BACK)}'"
    waiting = (await client.count_workflows(late, rpc_timeout=rpc_timeout)).count
    lost = (await client.count_workflows(given_up, rpc_timeout=rpc_timeout)).count
    if not waiting and not lost:
        return []
    reasons = await _reasons(client, late if waiting else given_up, rpc_timeout)
    what = f"notifications: {waiting} have waited over a minute, {lost} were given up within a day"
    return [warning("NotificationsNotDelivered", "; ".join((what, *reasons)), ADVICE)]


async def _reasons(client: Client, query: str, rpc_timeout: timedelta) -> list[str]:
    """Why the latest notification of each receiver is not delivered."""
    reasons: dict[str, str] = {}
    async for listed in client.list_workflows(query, limit=MOST_LISTED, rpc_timeout=rpc_timeout):
        receiver = listed.id.split("/")[-2]
        if receiver not in reasons:
            reasons[receiver] = await _why(client, listed, receiver, rpc_timeout)
    return [*reasons.values()]


async def _why(client: Client, one: WorkflowExecution, receiver: str, rpc_timeout: timedelta) -> str:
    """The receiver of a notification with its latest failure; without a failure no worker took it."""
    handle: WorkflowHandle[object, object] = client.get_workflow_handle(one.id, run_id=one.run_id)
    if one.status is WorkflowExecutionStatus.FAILED:
        return await _failure(handle, rpc_timeout)
    description = await handle.describe(rpc_timeout=rpc_timeout)
    pending = description.raw_description.pending_activities
    if not pending or not pending[0].HasField("last_failure"):
        return f"{receiver}: no worker has taken it"
    return f"{receiver}: {await _words(client, pending[0].last_failure)}"


async def _failure(handle: WorkflowHandle[object, object], rpc_timeout: timedelta) -> str:
    try:
        await handle.result(rpc_timeout=rpc_timeout)
    except WorkflowFailureError as error:
        return str(error.cause)
    return ""


async def _words(client: Client, failure: Failure) -> str:
    try:
        return str(await client.data_converter.decode_failure(failure))
    except UnreadablePayload as error:
        return str(error)
