"""Connects a command to a cluster, and reads it as a detector does, with the rights of the user.

The installation in the cluster names itself, so that a user needs no options. Without one, the answers are
those of a detector with its default settings. If Temporal is down, the earlier remediations are
unknown, and back-off holds.

The cluster does not show the orders of people, nor which steps an incident has tried. A command asks each
open incident, for a limited time.
"""

import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry
from temporalio.service import RPCError

from cli.incidents.state_queries import StateQueries
from cli.incidents.visibility import Filter, open_incidents
from cli.inspection.targets import listed
from cli.shared.ages import ago
from cli.shared.connection import identity_of, silent_core
from cli.shared.errors import CommandError, UnreachableError, wrong_setting
from cli.shared.installations import find_installation
from cli.shared.options import UNNAMED, ClusterChoice
from cli.shared.terminal import PLAIN_DATA, error_sentence
from detector.inspection.inspection import Inspection, UnreadClusterError, inspecting
from detector.inspection.memories import IncidentMemories
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.policy.policy import Policy
from health.runbook.state import Memory
from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import Forbidden, KubernetesError, NotFound, none_if_absent
from kube.lease import LeaseRecord, expiry, holder_is_valid
from kube.resource import LEASES
from kube.transport import Transport
from kube.workload_connections import WorkloadConnections
from objects.timestamps import stamp
from runtime.cluster import read_cluster_identity
from runtime.connections import Connections
from runtime.paramedic_status import (
    NAME,
    PARAMEDIC_STATUSES,
    STALE,
    ConditionType,
    ParamedicStatusDocument,
)
from runtime.payload_codec import with_keys
from runtime.payload_keys import PayloadKeys
from runtime.problems import Problems
from runtime.process_names import LEADER_LEASE
from runtime.settings import CLUSTER_VARIABLE, PAYLOAD_KEYS_VARIABLE, PREFIX, Settings, SettingsError
from runtime.temporal_link import TemporalLink

USER_AGENT = "paramedic-inspection"
"""Names these reads in the audit log of the API server."""


@asynccontextmanager
async def reading_cluster(
    choice: ClusterChoice, policy: Policy | None = None, user_agent: str = USER_AGENT
) -> AsyncIterator[Inspection]:
    """Read the cluster for the time of the block; `policy` replaces that of the cluster.

    Raises:
        CommandError: the cluster cannot be read, or a setting is wrong.

    """
    with _errors_of_the_cluster(choice):
        async with (
            _connected(choice, user_agent) as (settings, connections),
            inspecting(settings, connections, policy) as inspection,
        ):
            yield inspection


@asynccontextmanager
async def reading_settings(choice: ClusterChoice) -> AsyncIterator[tuple[Settings, str, Client]]:
    """The settings of the installation, the identity of the cluster, and a client, for the time of the block.

    Raises:
        CommandError: the cluster cannot be read, or a setting is wrong.

    """
    with _errors_of_the_cluster(choice):
        async with await Transport.connect(
            context=choice.kubeconfig_context, user_agent=USER_AGENT
        ) as transport:
            management = ClusterConnection.over(transport)
            yield (*await _settings(choice, management), management.client)


@contextmanager
def _errors_of_the_cluster(choice: ClusterChoice) -> Iterator[None]:
    logging.getLogger().addHandler(logging.NullHandler())  # errors name the problems; no log is printed
    try:
        yield
    except UnreadClusterError as error:
        raise CommandError(str(error)) from error
    except KubernetesError as error:
        raise UnreachableError(f"the cluster cannot be read: {error.message.rstrip('.')}") from error
    except SettingsError as error:
        raise wrong_setting(error, PREFIX, choice.context.params) from error


@asynccontextmanager
async def _connected(choice: ClusterChoice, user_agent: str) -> AsyncIterator[tuple[Settings, Connections]]:
    async with await Transport.connect(context=choice.kubeconfig_context, user_agent=user_agent) as transport:
        management = ClusterConnection.over(transport)
        settings, identity = await _settings(choice, management)
        problems = Problems()
        temporal = _temporal(choice.environment, problems)
        await temporal.try_once()
        async with WorkloadConnections(management.client) as workload_clusters:
            yield (
                settings,
                Connections(
                    management=management,
                    workload_clusters=workload_clusters,
                    cluster=identity,
                    temporal=temporal,
                    problems=problems,
                    metrics=CollectorRegistry(),
                ),
            )


def _temporal(environment: Mapping[str, str], problems: Problems) -> TemporalLink:
    converter = with_keys(PayloadKeys.read(environment.get(PAYLOAD_KEYS_VARIABLE)), PLAIN_DATA)
    identity = identity_of(environment)
    return TemporalLink(identity, problems, silent_core(), converter=converter, environment=environment)


async def _settings(choice: ClusterChoice, connection: ClusterConnection) -> tuple[Settings, str]:
    """The settings of the installation in the cluster, and the identity of the cluster."""
    environment = choice.environment
    found = await find_installation(connection.client, environment.get(CLUSTER_VARIABLE, ""))
    if found is None:
        settings = Settings.from_environment({CLUSTER_VARIABLE: UNNAMED} | environment)
        return settings, await read_cluster_identity(connection.client, settings.cluster)
    return Settings.from_environment(environment | found.environment), found.installation.cluster


async def no_leader(inspection: Inspection) -> str:
    """Why no detector leads, with its Lease; "": one leads, or the user may not read the Lease."""
    settings, client = inspection.state.settings, inspection.state.connections.management.client
    try:
        found = await none_if_absent(client.get(LEASES, LEADER_LEASE, settings.namespace))
    except Forbidden:
        return ""
    name = f"{settings.namespace}/{LEADER_LEASE}"
    return leader_trouble(name, None if found is None else LeaseRecord.read(found), inspection.state.now())


async def refused_incidents(inspection: Inspection) -> str:
    """The incidents that Temporal refuses, as the leader reports; "": none, or it cannot be read."""
    settings, client = inspection.state.settings, inspection.state.connections.management.client
    try:
        found = await client.get(PARAMEDIC_STATUSES, NAME, settings.namespace)
    except (Forbidden, NotFound):
        return ""
    return refusals_in(ParamedicStatusDocument.read(found), inspection.state.now())


def refusals_in(status: ParamedicStatusDocument, now: datetime) -> str:
    """The incidents that Temporal refuses by a ParamedicStatus; "": none, or it is outdated."""
    accepted = status.unmet(ConditionType.INCIDENTS_ACCEPTED)
    if accepted is None or status.is_older(STALE, now):
        return ""
    return f"since {stamp(accepted.last_transition_time)} {accepted.message}"


def leader_trouble(name: str, lease: LeaseRecord | None, now: datetime) -> str:
    """Why no detector leads by its Lease, so that nothing is done; "": one leads."""
    if lease is None:
        return f"no detector leads, so nothing is done: there is no Lease {name}"
    if holder_is_valid(lease, now):
        return ""
    ended, holder = expiry(lease), lease.spec.holder_identity
    why = f"expired at {ago(ended, now)}" if holder and ended else "has no holder"
    last = f"; its last holder was {holder}" if holder else ""
    return f"no detector leads, so nothing is done: the Lease {name} {why}{last}"


ANSWERS_WITHIN = timedelta(seconds=20)
"""For all incidents of one command; those that did not answer by then count as unknown."""


async def read_memories(inspection: Inspection, incidents: Iterable[IncidentReference]) -> IncidentMemories:
    """The memories of those of these incidents that are open.

    The state has then noted their progress, and counts their failures as they do: this process has not seen
    the beginnings.
    """
    by_id = {incident.workflow_id: incident for incident in incidents}
    if not by_id:
        return IncidentMemories()
    try:
        client = inspection.state.connections.temporal()
        running = await open_incidents(client, Filter(cluster=inspection.cluster_state.cluster))
    except RPCError as error:
        return IncidentMemories(problem=temporal_trouble(inspection, error))
    wanted = [summary for summary in running if summary.incident.workflow_id in by_id]
    found: dict[IncidentReference, Memory] = {}
    unknown: dict[IncidentReference, str] = {}
    for summary in await StateQueries(client).all(wanted, within=ANSWERS_WITHIN):
        incident = by_id[summary.incident.workflow_id]  # started by hand, it lacks a part of the uid
        if summary.state is None:
            unknown[incident] = summary.problem
        else:
            memory = found[incident] = summary.state.memory
            inspection.cluster_state.reported(incident, memory.progress)
            if memory.counted is not None:
                inspection.watched.context.node_changes.count_on(incident, memory.counted)
    return IncidentMemories(found=found, unknown=unknown)


def temporal_trouble(inspection: Inspection, error: RPCError) -> str:
    """Why Temporal cannot be asked, with its address if it cannot be reached."""
    problems = inspection.state.connections.problems
    return problems.sentence("temporal") or problems.sentence("search attributes") or error_sentence(error)


def unknown_orders(memories: IncidentMemories) -> tuple[str, ...]:
    """A sentence for each reason why orders of people are unknown, with the incidents."""
    if memories.problem:
        return (f"orders and approvals of people are unknown: {memories.problem}",)
    by_reason: defaultdict[tuple[CheckReference, str], list[TargetReference]] = defaultdict(list)
    for incident, why in memories.unknown.items():
        by_reason[incident.check, why].append(incident.target)
    return tuple(
        f"orders and approvals for {listed(sorted(targets, key=str))} under {check} are unknown: {why}"
        for (check, why), targets in by_reason.items()
    )
