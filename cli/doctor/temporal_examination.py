"""Findings about Temporal: connection, namespace, setup, worker, failing workflows, notifications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from temporalio.api.failure.v1 import Failure
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.envconfig import ClientConnectConfig
from temporalio.service import RPCError

from cli.doctor.finding import Finding, FindingSeverity, in_mid_sentence, problem, warning
from cli.doctor.of_answers import answer_findings
from cli.doctor.of_backlogs import backlog_findings
from cli.doctor.of_repeated_steps import repetition_findings
from cli.doctor.of_worker_versions import worker_findings
from cli.incidents.task_failure import read_task_failure
from cli.shared.ages import short
from cli.shared.connection import RPC_TIMEOUT, retention_of, silent_core
from cli.shared.parameters import quoted
from cli.shared.terminal import PLAIN_DATA
from objects.timestamps import stamp
from runtime import search_attributes, task_failures
from runtime.address import Address
from runtime.payload_codec import UnreadablePayload, with_keys
from runtime.payload_keys import PayloadKeys
from runtime.search_attributes import SearchAttributeConflict
from runtime.settings import PAYLOAD_KEYS_VARIABLE
from runtime.strangers import strangers
from runtime.temporal import address_of, connect, temporal_settings
from runtime.temporal_trouble import TemporalRefuses, TemporalUnreachable, trouble_with
from workflows.notification_contracts import NOTIFICATION

_GUIDE = "see docs/security.md"
NO_BACK_OFF = timedelta()
NAMED = 3
"""The number of workflow ids in a finding."""
OF_FAILURES = (
    "roll the worker back, or forward to a build that can continue them; until then nothing is done for "
    "these targets, checks that an upgrade has paused stay paused, and nothing is lost"
)
OF_STRANGERS = (
    "terminate them: a worker of this version ends each of them before it does anything, an older one "
    "remediates the same target twice"
)
LATE = timedelta(minutes=1)
"""A notification that is sent at once has ended by then."""
LOOKED_BACK = timedelta(hours=24)
MOST_LISTED = 100
"""The latest notifications among which each receiver is looked for."""
OF_NOTIFICATIONS = (
    "the log of the workers names receiver and problem; see docs/runbook/alerts.md#paramedicnotificationsfail"
)


@dataclass(frozen=True)
class DeliveryState:
    """Why the latest notification to one receiver is not delivered."""

    words: str
    at: datetime | None = None
    """The end of the latest attempt; None if there was none."""


def protection_findings(config: ClientConnectConfig) -> list[Finding]:
    """Findings about a connection with these valid settings, if it has neither TLS nor credentials.

    Without them Temporal accepts any client, and a client that may write to the namespace can stop
    remediation, or have unhealthy targets remediated out of turn (docs/security.md).
    """
    address = config["target_host"]
    metadata = {name.lower() for name in config.get("rpc_metadata") or {}}
    has_credentials = bool(config.get("api_key")) or "authorization" in metadata
    if config.get("tls") or has_credentials or _is_loopback(Address.parse(address).host):
        return []
    what = f"Temporal at {address} is asked without TLS and without credentials"
    advice = (
        "each client that reaches it can order remediations and end them: "
        f"set TEMPORAL_TLS_… or TEMPORAL_API_KEY, {_GUIDE}"
    )
    return [warning("TemporalUnprotected", what, advice)]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.rstrip(".").lower().split(".")[-1] == "localhost"


async def task_failure_findings(client: Client, clusters: Sequence[str]) -> list[Finding]:
    """Workflows of these clusters whose workflow task keeps failing, as far as Temporal reports that.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    if not await task_failures.are_reported(client, RPC_TIMEOUT):
        return []
    query = task_failures.failing(task_failures.EVERY_WORKFLOW, clusters)
    count = (await client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)).count
    listed = client.list_workflows(query, limit=NAMED, rpc_timeout=RPC_TIMEOUT)
    named = [await _described(client, execution.id, execution.run_id) async for execution in listed]
    if not named:
        return []
    more = f"; and {count - len(named)} more" if count > len(named) else ""
    of = "1 workflow" if count <= 1 else f"{count} workflows"
    return [problem("CodeFails", f"the code of {of} fails: {'; '.join(named)}{more}", OF_FAILURES)]


async def stranger_findings(client: Client, clusters: Sequence[str]) -> list[Finding]:
    """Workflows of these clusters under an id other than that of their incident or cluster.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    found = await strangers(client, clusters, RPC_TIMEOUT)
    if not found:
        return []
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    what = f"open under an id that is not theirs: {'; '.join(map(str, found[:NAMED]))}{more}"
    return [problem("WrongWorkflowId", what, OF_STRANGERS)]


async def _described(client: Client, workflow_id: str, run_id: str) -> str:
    failure = await read_task_failure(client, workflow_id, run_id, RPC_TIMEOUT)
    return f"{workflow_id} ({failure})" if failure else workflow_id


def retention_findings(namespace: str, retention: timedelta, back_off_limit: timedelta) -> list[Finding]:
    """A finding if the namespace deletes closed workflows before back-off has read them."""
    looked_back = 2 * back_off_limit
    if not timedelta() < retention < looked_back:
        return []
    what = (
        f"namespace {namespace} keeps closed workflows for {short(retention)}, and back-off looks back for "
    )
    days = -(-looked_back // timedelta(days=1))
    advice = (
        f"`paramedic setup --retention {days}d`, or lower the limit of back-off; until then a "
        "detector that starts forgets remediations, and the next one comes too early"
    )
    return [warning("RetentionTooShort", what + short(looked_back), advice)]


async def temporal_findings(
    environment: Mapping[str, str],
    cluster: Sequence[str],
    back_off_limit: timedelta = NO_BACK_OFF,
) -> list[Finding]:
    """All findings about Temporal for a cluster of one of these identities, the likeliest first.

    Without an identity, the task queue of the worker is unknown and is not examined.

    Raises:
        SettingsError: the Temporal configuration or the payload keys in the environment are invalid.

    """
    unprotected = protection_findings(temporal_settings(environment))
    try:
        keys = PayloadKeys.read(environment.get(PAYLOAD_KEYS_VARIABLE))
        client = await connect(None, environment, silent_core(), with_keys(keys, PLAIN_DATA))
        return [*await _asked(client, cluster, back_off_limit), *unprotected]
    except TemporalRefuses as error:
        advice = "correct the credentials, the namespace or Temporal itself; until then nothing new is done"
        return [problem("TemporalRefuses", in_mid_sentence(str(error)), advice), *unprotected]
    except TemporalUnreachable as error:
        advice = "start it, or correct TEMPORAL_ADDRESS; until then nothing new is done"
        return [problem("TemporalUnreachable", str(error), advice), *unprotected]


async def _asked(client: Client, cluster: Sequence[str], back_off_limit: timedelta) -> list[Finding]:
    try:
        return await _findings(client, cluster, back_off_limit)
    except RPCError as error:
        raise trouble_with(address_of(client), error) from error


async def _findings(client: Client, cluster: Sequence[str], back_off_limit: timedelta) -> list[Finding]:
    retention = await retention_of(client)
    if retention is None:
        what = f"Temporal at {address_of(client)} has no namespace {client.namespace}"
        return [problem("NamespaceMissing", what, "`paramedic setup --create-namespace` makes it")]
    too_short = retention_findings(client.namespace, retention, back_off_limit)
    not_set_up = await _examine_search_attributes(client)
    of_workers = await worker_findings(client, cluster) if cluster else []
    of_backlogs = await backlog_findings(client, cluster)
    found = [*too_short, *not_set_up, *of_workers, *of_backlogs]
    if not_set_up or not cluster:  # there are no incidents, and Temporal would refuse the queries
        return found
    has_worker = all(finding.severity is not FindingSeverity.PROBLEM for finding in of_workers)
    return [
        *found,
        *(await answer_findings(client, cluster) if has_worker else []),
        *await task_failure_findings(client, cluster),
        *await stranger_findings(client, cluster),
        *await repetition_findings(client, cluster, datetime.now(UTC)),
        *await notification_findings(client, cluster, datetime.now(UTC)),
    ]


async def _examine_search_attributes(client: Client) -> list[Finding]:
    try:
        missing = await search_attributes.missing(client, client.namespace)
    except SearchAttributeConflict as error:
        return [problem("SearchAttributeConflict", str(error), "use another Temporal namespace")]
    if not missing:
        return []
    what = f"namespace {client.namespace} lacks the search attributes {', '.join(missing)}"
    return [problem("SearchAttributesMissing", what, "run `paramedic setup`")]


async def notification_findings(client: Client, clusters: Sequence[str], now: datetime) -> list[Finding]:
    """A warning if notifications of these clusters wait, or were given up within a day.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    of_clusters = f"{search_attributes.CLUSTER.name} IN ({', '.join(map(quoted, clusters))})"
    ours = f"WorkflowType = '{NOTIFICATION}' AND {of_clusters}"
    late = f"{ours} AND ExecutionStatus = 'Running' AND StartTime < '{stamp(now - LATE)}'"
    given_up = f"{ours} AND ExecutionStatus = 'Failed' AND CloseTime > '{stamp(now - LOOKED_BACK)}'"
    waiting = (await client.count_workflows(late, rpc_timeout=RPC_TIMEOUT)).count
    lost = (await client.count_workflows(given_up, rpc_timeout=RPC_TIMEOUT)).count
    if not waiting and not lost:
        return []
    reasons = await _reasons(client, late if waiting else given_up)
    what = f"notifications: {waiting} have waited over a minute, {lost} were given up within a day"
    return [warning("NotificationsNotDelivered", "; ".join((what, *reasons)), OF_NOTIFICATIONS)]


async def _reasons(client: Client, query: str) -> list[str]:
    """Why the latest notification of each receiver is not delivered."""
    failures: dict[str, DeliveryState] = {}
    async for listed in client.list_workflows(query, limit=MOST_LISTED, rpc_timeout=RPC_TIMEOUT):
        receiver = listed.id.split("/")[-2]
        if receiver not in failures:
            failures[receiver] = await _why(client, listed)
    return by_reason(failures)


def by_reason(failures: Mapping[str, DeliveryState]) -> list[str]:
    """Each reason once, with its receivers and its latest time."""
    reasons: dict[str, list[str]] = {}
    for receiver, failure in failures.items():
        reasons.setdefault(failure.words, []).append(receiver)
    return [
        f"{', '.join(receivers)}: {words}{_last([failures[receiver].at for receiver in receivers])}"
        for words, receivers in reasons.items()
    ]


def _last(times: Sequence[datetime | None]) -> str:
    known = [time for time in times if time is not None]
    return f" (last tried at {max(known):%Y-%m-%d %H:%M:%SZ})" if known else ""


async def _why(client: Client, execution: WorkflowExecution) -> DeliveryState:
    """The latest failure of a notification; without a failure no worker took it."""
    handle: WorkflowHandle[object, object] = client.get_workflow_handle(execution.id, run_id=execution.run_id)
    if execution.status is WorkflowExecutionStatus.FAILED:
        return DeliveryState(await _failure(handle), execution.close_time)
    description = await handle.describe(rpc_timeout=RPC_TIMEOUT)
    pending = description.raw_description.pending_activities
    if not pending or not pending[0].HasField("last_failure"):
        return DeliveryState("no worker has taken it")
    tried = pending[0].last_attempt_complete_time.ToDatetime(UTC)
    return DeliveryState(await _words(client, pending[0].last_failure), tried)


async def _failure(handle: WorkflowHandle[object, object]) -> str:
    """The first cause of its failure, which names neither receiver nor notification."""
    try:
        await handle.result(rpc_timeout=RPC_TIMEOUT)
    except WorkflowFailureError as error:
        cause: BaseException = error.cause
        while cause.__cause__ is not None:
            cause = cause.__cause__
        return str(cause)
    return ""


async def _words(client: Client, failure: Failure) -> str:
    try:
        return str(await client.data_converter.decode_failure(failure))
    except UnreadablePayload as error:
        return str(error)
