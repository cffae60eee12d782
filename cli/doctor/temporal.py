"""Questions about Temporal: connection, namespace, search attributes, workers, tasks, failing workflows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.client import Client
from temporalio.envconfig import ClientConnectConfig
from temporalio.service import RPCError

from cli.doctor.finding import Finding, FindingRules, FindingSeverity, Found, in_mid_sentence, listed
from cli.incidents.state_queries import NO_WORKER as NO_ANSWER
from cli.incidents.state_queries import QUERY_TIMEOUT, StateQueries, read_task_failure
from cli.incidents.visibility import IncidentSummary, latest_open_incidents, of_clusters, remediated_since
from cli.shared.ages import short
from cli.shared.connection import RPC_TIMEOUT, client_of, retention_of
from health.model.incident_result import IN_A_ROW
from objects.address import Address, is_loopback
from objects.clusters import configured_name
from objects.timestamps import stamp
from runtime import search_attributes, task_failures
from runtime.listed_incidents import strangers
from runtime.polling import QUEUES, Backlog, backlog, workers_polling
from runtime.search_attributes import SearchAttributeConflict
from runtime.temporal import address_of, temporal_settings
from runtime.temporal_trouble import TemporalRefuses, TemporalUnreachable, trouble_with
from workflows.contracts import worker_queue
from workflows.notification import NOTIFICATION

PROBLEM, WARNING, NOTE = FindingSeverity
NO_WORKER = "NoWorker"
QUERIED = 3
"""The number of open incidents that are queried, all at once."""
MOST_READ = 200
"""The latest ended incidents that are read."""
LATE = timedelta(seconds=30)
"""A task that waits for longer is a problem."""
UNDELIVERED_AFTER, LOOKED_BACK = timedelta(minutes=1), timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class Temporal:
    """The namespace of one cluster, which has one of these identities."""

    client: Client
    clusters: Sequence[str]
    """The identities that the given name may mean, the likeliest first."""
    now: datetime
    retention: timedelta = timedelta()
    back_off_limit: timedelta = timedelta()


SETTINGS_RULES = FindingRules[ClientConnectConfig]()
NAMESPACE_RULES = FindingRules[Temporal]()
QUEUE_RULES = FindingRules[Temporal]()
"""About a cluster whose identity is known."""
WORKFLOW_RULES = FindingRules[Temporal]()
"""About a cluster whose identity is known, in a namespace with all search attributes."""


async def temporal_findings(
    environment: Mapping[str, str], clusters: Sequence[str], back_off_limit: timedelta = timedelta()
) -> list[Finding]:
    """All findings about Temporal for a cluster of one of these identities.

    Without an identity, the task queues of the cluster are unknown and are not examined.

    Raises:
        SettingsError: the Temporal configuration or the payload keys in the environment are invalid.

    """
    unprotected = await SETTINGS_RULES.findings(temporal_settings(environment))
    try:
        client = await client_of(environment, identity=None)
        try:
            return [*await _findings(client, clusters, back_off_limit), *unprotected]
        except RPCError as error:
            raise trouble_with(address_of(client), error) from error
    except TemporalRefuses as error:
        advice = "correct the credentials, the namespace or Temporal itself; until then nothing new is done"
        refused = in_mid_sentence(str(error))
        found = Finding(severity=PROBLEM, reason="TemporalRefuses", what=refused, advice=advice)
    except TemporalUnreachable as error:
        advice = "start it, or correct TEMPORAL_ADDRESS; until then nothing new is done"
        found = Finding(severity=PROBLEM, reason="TemporalUnreachable", what=str(error), advice=advice)
    return [found, *unprotected]


async def _findings(client: Client, clusters: Sequence[str], back_off_limit: timedelta) -> list[Finding]:
    retention = await retention_of(client)
    if retention is None:
        what = f"Temporal at {address_of(client)} has no namespace {client.namespace}"
        advice = "`paramedic setup --create-namespace` makes it"
        return [Finding(severity=PROBLEM, reason="NamespaceMissing", what=what, advice=advice)]
    temporal = Temporal(
        client=client,
        clusters=clusters,
        now=datetime.now(UTC),
        retention=retention,
        back_off_limit=back_off_limit,
    )
    found = await NAMESPACE_RULES.findings(temporal)
    if not clusters:
        return found
    found += await QUEUE_RULES.findings(temporal)
    if any(finding.reason.startswith("SearchAttribute") for finding in found):
        return found  # Temporal would refuse the queries
    can_answer = not any(finding.reason == NO_WORKER for finding in found)
    rules = FindingRules(rule for rule in WORKFLOW_RULES if can_answer or rule is not silent_worker)
    return found + await rules.findings(temporal)


@SETTINGS_RULES.finds(
    "TemporalUnprotected",
    WARNING,
    "each client that reaches it can order remediations and end them: set TEMPORAL_TLS_… or "
    "TEMPORAL_API_KEY, see docs/security.md",
)
async def is_unprotected(config: ClientConnectConfig) -> Found:
    """A connection to another machine without TLS and without credentials."""
    address = config["target_host"]
    metadata = {name.lower() for name in config.get("rpc_metadata") or {}}
    has_credentials = bool(config.get("api_key")) or "authorization" in metadata
    if not (config.get("tls") or has_credentials or is_loopback(Address.parse(address).host)):
        yield f"Temporal at {address} is asked without TLS and without credentials"


@NAMESPACE_RULES.finds(
    "RetentionTooShort",
    WARNING,
    "`paramedic setup --retention` sets it, or lower the limit of back-off; until then a detector that "
    "starts forgets remediations, and the next one comes too early",
)
async def short_retention(temporal: Temporal) -> Found:
    """A namespace that deletes closed workflows before back-off has read them."""
    kept, looked_back = temporal.retention, 2 * temporal.back_off_limit
    if timedelta() < kept < looked_back:
        what = f"namespace {temporal.client.namespace} keeps closed workflows for {short(kept)}"
        yield f"{what}, and back-off looks back for {short(looked_back)}"


@NAMESPACE_RULES.finds("SearchAttributesMissing", PROBLEM, "run `paramedic setup`")
async def missing_search_attributes(temporal: Temporal) -> Found:
    namespace = temporal.client.namespace
    try:
        missing = await search_attributes.missing(temporal.client, namespace)
    except SearchAttributeConflict as error:
        advice = "use another Temporal namespace"
        yield Finding(severity=PROBLEM, reason="SearchAttributeConflict", what=str(error), advice=advice)
        return
    if missing:
        yield f"namespace {namespace} lacks the search attributes {', '.join(missing)}"


@QUEUE_RULES.finds(NO_WORKER, PROBLEM, "start one for this cluster and this Temporal namespace")
async def no_worker(temporal: Temporal) -> Found:
    """No worker that gets new workflows polled within the last minutes."""
    queues = [worker_queue(cluster) for cluster in temporal.clusters]
    if not any([await workers_polling(temporal.client, queue) for queue in queues]):
        name = configured_name(temporal.clusters[0])
        yield f"no worker takes new workflows from the task queue {queues[0]} (PARAMEDIC_CLUSTER={name})"


@QUEUE_RULES.finds(
    "TasksWait",
    PROBLEM,
    "look whether that process runs; if it does, its log says whether Temporal refuses its polls: then raise "
    "frontend.namespaceCount, see docs/temporal-production.md#polls",
)
async def waiting_tasks(temporal: Temporal) -> Found:
    """A task queue with a task that waits for too long."""
    for queue in [queue(cluster) for cluster in temporal.clusters for queue in QUEUES.values()]:
        found = await backlog(temporal.client, queue)
        if found.oldest > LATE:
            yield waiting(queue, found)


def waiting(queue: str, found: Backlog) -> str:
    who = "the processes that poll it do not take it" if found.is_polled else "no process polls it"
    return f"a task of the task queue {queue} has waited for {short(found.oldest)}, and {who}"


@WORKFLOW_RULES.finds(
    "WorkerSilent",
    PROBLEM,
    "look at the worker and its log: it is stopped, hangs, or lacks CPU or memory; restart it, and it "
    "continues each incident and obeys the orders that Temporal keeps",
)
async def silent_worker(temporal: Temporal) -> Found:
    """No open incident answers: Temporal forgets the last poll of a stopped worker after five minutes."""
    incidents = await latest_open_incidents(temporal.client, temporal.clusters, QUERIED)
    asked = await StateQueries(temporal.client).all(incidents)
    if asked and all(summary.problem == NO_ANSWER for summary in asked):
        ids = "; ".join(summary.incident.workflow_id for summary in asked)
        yield f"no worker answered for {len(asked)} open incidents within {QUERY_TIMEOUT.seconds} s ({ids})"


@WORKFLOW_RULES.finds(
    "CodeFails",
    PROBLEM,
    "roll the worker back, or forward to a build that can continue them; until then nothing is done for "
    "these targets, checks that an upgrade has paused stay paused, and nothing is lost",
)
async def failing_code(temporal: Temporal) -> Found:
    """Workflows whose workflow task keeps failing, as far as Temporal reports that."""
    client = temporal.client
    if not await task_failures.are_reported(client, RPC_TIMEOUT):
        return
    query = task_failures.failing(task_failures.EVERY_WORKFLOW, temporal.clusters)
    count = (await client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)).count
    named = []
    async for execution in client.list_workflows(query, limit=QUERIED, rpc_timeout=RPC_TIMEOUT):
        failure = await read_task_failure(client, execution.id, execution.run_id, RPC_TIMEOUT)
        named.append(f"{execution.id} ({failure})" if failure else execution.id)
    if named:
        more = f"; and {count - len(named)} more" if count > len(named) else ""
        of = "1 workflow" if count <= 1 else f"{count} workflows"
        yield f"the code of {of} fails: {'; '.join(named)}{more}"


@WORKFLOW_RULES.finds(
    "WrongWorkflowId",
    PROBLEM,
    "terminate them: a worker of this version ends each of them before it does anything, an older one "
    "remediates the same target twice",
)
async def wrong_workflow_ids(temporal: Temporal) -> Found:
    found = await strangers(temporal.client, temporal.clusters, RPC_TIMEOUT)
    if found:
        yield f"open under an id that is not theirs: {'; '.join(listed([*map(str, found)]))}"


@WORKFLOW_RULES.finds(
    "StepRepeated",
    WARNING,
    "let the monitor report a problem until it knows better, or set paramedic.dev/relapse on the check, so "
    "that the next failure goes on with the next step; see docs/policy.md#relapse",
)
async def repeated_steps(temporal: Temporal) -> Found:
    """Targets whose first steps were taken several times in a row, and no other one."""
    ended = await remediated_since(temporal.client, temporal.clusters, temporal.now - IN_A_ROW, MOST_READ)
    found = repetitions(await StateQueries(temporal.client).all(latest_of(ended)))
    if found:
        yield "; ".join(listed(found))


def latest_of(ended: Sequence[IncidentSummary]) -> list[IncidentSummary]:
    """The first incident in the list of each check and name; some remediators give a Node another uid."""
    return [*{(one.incident.check, str(one.incident.target)): one for one in reversed(ended)}.values()]


def repetitions(latest: Sequence[IncidentSummary]) -> list[str]:
    return [
        f"{one.incident.target} ({one.incident.check}): {one.repetition}" for one in latest if one.repetition
    ]


@WORKFLOW_RULES.finds(
    "NotificationsNotDelivered",
    WARNING,
    "the log of the workers names receiver and problem; see "
    "docs/runbook/alerts.md#paramedicnotificationsfail",
)
async def undelivered_notifications(temporal: Temporal) -> Found:
    ours = f"WorkflowType = '{NOTIFICATION}' AND {of_clusters(temporal.clusters)}"
    started, closed = temporal.now - UNDELIVERED_AFTER, temporal.now - LOOKED_BACK
    late = f"{ours} AND ExecutionStatus = 'Running' AND StartTime < '{stamp(started)}'"
    given_up = f"{ours} AND ExecutionStatus = 'Failed' AND CloseTime > '{stamp(closed)}'"
    waiting = (await temporal.client.count_workflows(late, rpc_timeout=RPC_TIMEOUT)).count
    lost = (await temporal.client.count_workflows(given_up, rpc_timeout=RPC_TIMEOUT)).count
    if waiting or lost:
        yield f"notifications: {waiting} have waited over a minute, {lost} were given up within a day"
