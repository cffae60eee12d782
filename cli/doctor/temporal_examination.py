"""Findings about Temporal: no answer, namespace, setup or worker, short retention, failing workflow tasks."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.envconfig import ClientConnectConfig
from temporalio.service import RPCError, RPCStatusCode

from cli.doctor.cluster_examination import configured_name
from cli.doctor.finding import Finding, problem, warning
from cli.doctor.of_notifications import notification_findings
from cli.doctor.of_upgrade_pause import memory_findings
from cli.doctor.of_worker_versions import drained_findings, version_findings
from cli.incidents.task_failure import read_task_failure
from cli.shared.ages import short
from cli.shared.connection import silent_core
from cli.shared.parameters import quoted
from cli.shared.retention import retention_of
from cli.shared.terminal import PLAIN_DATA
from runtime import search_attributes, task_failures
from runtime.address import Address
from runtime.payload_codec import with_keys
from runtime.payload_keys import PayloadKeys
from runtime.polling import Build, queue_pollers
from runtime.retrying import one_sentence
from runtime.search_attributes import SearchAttributeConflict
from runtime.settings import PAYLOAD_KEYS_VARIABLE
from runtime.strangers import strangers
from runtime.temporal import address_of, connect
from runtime.temporal_settings import temporal_settings
from runtime.temporal_trouble import TemporalUnreachable
from workflows.contracts import worker_queue

_GUIDE = "see docs/security.md"


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


RPC_TIMEOUT = timedelta(seconds=10)
NO_BACK_OFF = timedelta()
MOST_VERSIONS = 20
_VERSION = SearchAttributeKey.for_keyword("TemporalWorkerDeploymentVersion")
"""The version that a workflow is pinned to, or last ran on."""
NAMED = 3
"""The number of workflow ids in a finding."""
ADVICE = (
    "roll the worker back, or forward to a build that can continue them; until then nothing is done for "
    "these targets, checks that an upgrade has paused stay paused, and nothing is lost"
)

OF_STRANGERS = (
    "terminate them: a worker of this version ends each of them before it does anything, an older one "
    "remediates the same target twice"
)


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
    return [problem("CodeFails", f"the code of {of} fails: {'; '.join(named)}{more}", ADVICE)]


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
    except TemporalUnreachable as error:
        advice = "start it, or correct TEMPORAL_ADDRESS and the credentials; until then nothing new is done"
        return [problem("TemporalUnreachable", str(error), advice), *unprotected]
    try:
        return [*await _findings(client, cluster, back_off_limit), *unprotected]
    except RPCError as error:
        what = f"Temporal at {address_of(client)} refuses: {one_sentence(error)}"
        return [problem("TemporalRefuses", what, "correct the credentials, or try again"), *unprotected]


async def _findings(client: Client, cluster: Sequence[str], back_off_limit: timedelta) -> list[Finding]:
    retention = await retention_of(client)
    if retention is None:
        what = f"Temporal at {address_of(client)} has no namespace {client.namespace}"
        return [problem("NamespaceMissing", what, "`paramedic setup --create-namespace` makes it")]
    too_short = retention_findings(client.namespace, retention, back_off_limit)
    not_set_up = await _examine_search_attributes(client)
    polled = await _examine_worker(client, cluster) if cluster else []
    # Without the search attributes there are no incidents, and Temporal would refuse the query.
    failing = await task_failure_findings(client, cluster) if cluster and not not_set_up else []
    strange = await stranger_findings(client, cluster) if cluster and not not_set_up else []
    unread = await memory_findings(client, cluster)
    is_asked = bool(cluster) and not not_set_up
    untold = await notification_findings(client, cluster, datetime.now(UTC), RPC_TIMEOUT) if is_asked else []
    return [*too_short, *not_set_up, *polled, *failing, *strange, *unread, *untold]


async def _examine_search_attributes(client: Client) -> list[Finding]:
    try:
        missing = await search_attributes.missing(client, client.namespace)
    except SearchAttributeConflict as error:
        return [problem("SearchAttributeConflict", str(error), "use another Temporal namespace")]
    if not missing:
        return []
    what = f"namespace {client.namespace} lacks the search attributes {', '.join(missing)}"
    return [problem("SearchAttributesMissing", what, "run `paramedic setup`")]


async def _examine_worker(client: Client, cluster: Sequence[str]) -> list[Finding]:
    start = f"start one, with PARAMEDIC_CLUSTER={configured_name(cluster[0])} and this Temporal namespace"
    asked = [(one, await queue_pollers(client, worker_queue(one))) for one in cluster]
    identity, pollers = next(((one, found) for one, found in asked if found.builds), asked[0])
    return [
        *version_findings(worker_queue(identity), pollers, start),
        *drained_findings(await _pinned_or_none(client, identity), pollers),
    ]


async def _pinned_or_none(client: Client, cluster: str) -> dict[Build, int]:
    """As `_pinned`; empty for a Temporal without Worker Versioning, which lacks the search attribute."""
    try:
        return await _pinned(client, cluster)
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            return {}
        raise


async def _pinned(client: Client, cluster: str) -> dict[Build, int]:
    """The number of open workflows that are pinned to each version."""
    open_here = f"ParamedicCluster = {quoted(cluster)} AND ExecutionStatus = 'Running'"
    found: dict[Build, int] = {}
    while len(found) < MOST_VERSIONS:
        others = "".join(f" AND {_VERSION.name} != {quoted(str(one))}" for one in found)
        query = f"{open_here} AND {_VERSION.name} IS NOT NULL{others}"
        listed = [
            workflow async for workflow in client.list_workflows(query, limit=1, rpc_timeout=RPC_TIMEOUT)
        ]
        version = listed[0].typed_search_attributes.get(_VERSION) if listed else None
        if not version:
            break
        deployment, _, build = version.partition(":")
        of_version = f"{open_here} AND {_VERSION.name} = {quoted(version)}"
        found[Build(deployment, build)] = (
            await client.count_workflows(of_version, rpc_timeout=RPC_TIMEOUT)
        ).count
    return found
