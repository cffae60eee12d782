"""Examines the cluster and Temporal concurrently."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

from pydantic import ValidationError

from cli.doctor.cluster_examination import ClusterExamination, identities
from cli.doctor.finding import Examined, Finding, FindingSeverity, problem
from cli.doctor.of_own_status import installation_findings
from cli.doctor.temporal_examination import temporal_findings
from health.policy.policy import DEFAULTS
from health.policy.policy_document import POLICY, InvalidPolicyError, StoredPolicy
from kube.connection import ClusterConnection
from kube.errors import KubernetesError
from kube.resource import CONFIG_MAPS
from kube.transport import Transport
from kube.workload_connections import ClusterConnections, WorkloadConnections
from runtime.address import Address
from runtime.cluster import read_cluster_identity
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, ParamedicStatusDocument
from runtime.settings import Settings
from runtime.temporal_settings import temporal_namespace, temporal_settings


async def examine(settings: Settings, environment: Mapping[str, str], watched: timedelta) -> Examined:
    """All findings; writers of the status of checks are watched for `watched`.

    Raises:
        SettingsError: the Temporal configuration in the environment is invalid.

    """
    cluster, found = await _examine_both(settings, environment, watched)
    ordered = sorted(found, key=lambda finding: list(FindingSeverity).index(finding.severity))
    return Examined(cluster=cluster, findings=tuple(ordered))


async def _examine_both(
    settings: Settings, environment: Mapping[str, str], watched: timedelta
) -> tuple[str | None, list[Finding]]:
    host = Address.parse(temporal_settings(environment)["target_host"]).host
    try:
        async with await Transport.connect() as transport:
            connection = ClusterConnection.over(transport)
            identity = await read_cluster_identity(connection.client, settings.cluster)
            expected = identities(settings.cluster, identity)
            limit = await _back_off_limit(connection, settings)
            async with WorkloadConnections(connection.client) as workload_clusters:
                connections = ClusterConnections(connection, workload_clusters)
                of_cluster, of_temporal = await asyncio.gather(
                    ClusterExamination(connections, settings, watched, host).findings(),
                    temporal_findings(environment, expected, limit),
                )
                of_installation = await _examine_installation(connection, settings, expected, environment)
            return expected[0], [*of_installation, *of_cluster, *of_temporal]
    except KubernetesError as error:
        what = f"the cluster cannot be looked at: {error.message.rstrip('.')}"
        unreachable = problem("KubernetesUnreachable", what, "correct KUBECONFIG, or the API server")
        return None, [unreachable, *await temporal_findings(environment, (), DEFAULTS.back_off_limit)]


async def _examine_installation(
    connection: ClusterConnection,
    settings: Settings,
    expected: Sequence[str],
    environment: Mapping[str, str],
) -> list[Finding]:
    try:
        found = await connection.client.get(PARAMEDIC_STATUSES, NAME, settings.namespace)
    except KubernetesError:  # the examination of the cluster reports this error
        return []
    temporal = temporal_namespace(environment)
    return list(
        installation_findings(ParamedicStatusDocument.read(found).installation, expected, settings, temporal)
    )


async def _back_off_limit(connection: ClusterConnection, settings: Settings) -> timedelta:
    """The limit of the policy; that of the settings if the policy cannot be read (another finding)."""
    try:
        found = await connection.client.get(CONFIG_MAPS, POLICY, settings.namespace)
        return StoredPolicy.model_validate(found).over(DEFAULTS).back_off_limit
    except (KubernetesError, InvalidPolicyError, ValidationError):
        return DEFAULTS.back_off_limit
