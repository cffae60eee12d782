"""Connects a command to a cluster, and reads it as a detector does, with the rights of the user.

The installation in the cluster names itself, so that a user needs no options. Without one, the answers are
those of a detector with its default settings. If Temporal is down, the earlier remediations are
unknown, and back-off holds.

Which steps an incident has tried, and which of them people approved, it reports to its detector with its
questions; a command asks the incident. Only incidents of checks with a step that needs an approval are asked:
the cluster shows the next step of all others.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from prometheus_client import CollectorRegistry
from temporalio.service import RPCError

from cli.incidents.state_queries import StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import Filter, open_incidents
from cli.shared.connection import identity_of, silent_core
from cli.shared.errors import CommandError, UnreachableError, wrong_setting
from cli.shared.installations import find_installation
from cli.shared.options import UNNAMED, ClusterChoice
from cli.shared.terminal import PLAIN_DATA, error_sentence
from detector.inspection.inspection import Inspection, UnreadClusterError, inspecting
from health.model.references import IncidentReference
from health.policy.policy import Policy
from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import KubernetesError
from kube.transport import Transport
from kube.workload_connections import WorkloadConnections
from runtime.cluster import read_cluster_identity
from runtime.connections import Connections
from runtime.payload_codec import with_keys
from runtime.payload_keys import PayloadKeys
from runtime.problems import Problems
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


async def read_progress(inspection: Inspection, incidents: Iterable[IncidentReference]) -> tuple[str, ...]:
    """Note the progress of these incidents in the state; return why that of some is unknown."""
    asked = {one for one in incidents if inspection.answers.observe(one).approval is not None}
    if not asked:
        return ()
    try:
        client = inspection.state.connections.temporal()
        listed = await open_incidents(client, Filter(cluster=inspection.cluster_state.cluster))
        found = await StateQueries(client).all(one for one in listed if one.incident in asked)
    except RPCError as error:
        return (f"approvals of people are unknown: {error_sentence(error)}",)
    for summary in found:
        if summary.state is not None:
            inspection.cluster_state.reported(summary.incident, summary.state.memory.progress)
    return tuple(map(_unknown, (one for one in found if one.state is None)))


def _unknown(summary: IncidentSummary) -> str:
    incident = summary.incident
    return f"approvals for {incident.target} under {incident.check} are unknown: {summary.problem}"
