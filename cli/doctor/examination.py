"""Examination: one look at the cluster and one at Temporal."""

from collections.abc import Mapping

from cli.doctor.cluster_look import ClusterLook
from cli.doctor.finding import Finding, Severity, problem
from cli.doctor.temporal_look import temporal_findings
from cli.failing import UsageError
from kube.client import Client
from kube.errors import KubernetesError
from kube.transport import Transport
from runtime.cluster import read_cluster_identity
from runtime.settings import Settings, SettingsError


async def examine(settings: Settings, environment: Mapping[str, str]) -> list[Finding]:
    """All that is wrong, problems first.

    Raises:
        UsageError: what the environment says of Temporal cannot be used.

    """
    cluster, found = await _look_at_cluster(settings)
    try:
        found += await temporal_findings(environment, cluster)
    except SettingsError as error:
        raise UsageError(str(error)) from error
    return sorted(found, key=lambda finding: finding.severity is not Severity.PROBLEM)


async def _look_at_cluster(settings: Settings) -> tuple[str | None, list[Finding]]:
    """Its identity, None where it does not answer; and what is wrong with it."""
    try:
        async with await Transport.connect() as transport:
            cluster = await read_cluster_identity(Client(transport), settings.cluster)
            return cluster, await ClusterLook(transport, settings).findings()
    except KubernetesError as error:
        what = f"the cluster cannot be looked at: {error.message.rstrip('.')}"
        return None, [problem("KubernetesUnreachable", what, "correct KUBECONFIG, or the API server")]
