"""Asks all questions about the cluster and about Temporal.

A question that cannot be answered, for lack of a right or of an answer, becomes a finding and stops no other.
"""

import asyncio
from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from cli.doctor.checks import CHECK_RULES
from cli.doctor.cluster import ExaminedCluster
from cli.doctor.finding import Examined, Finding, FindingSeverity, in_mid_sentence
from cli.doctor.installation import INSTALLATION_RULES
from cli.doctor.rights import RIGHT_RULES, WORKLOAD_CLUSTER_RULES
from cli.doctor.temporal import NO_WORKER, temporal_findings
from cli.shared.errors import UsageError
from cli.shared.installations import find_installation
from health.policy.policy import DEFAULTS
from kube.connection import ClusterConnection, ClusterConnections, WorkloadConnections, read_cluster_identity
from kube.errors import Forbidden, KubernetesError
from kube.transport import Transport
from objects.clusters import identities
from runtime.settings import CLUSTER_VARIABLE, Settings
from runtime.temporal import temporal_namespace, temporal_settings

QUESTIONS = (*INSTALLATION_RULES, *RIGHT_RULES, *CHECK_RULES, *WORKLOAD_CLUSTER_RULES)


async def examine(settings: Settings, environment: Mapping[str, str]) -> Examined:
    """All findings, the most urgent first.

    If the environment does not name the cluster, the settings of the only installation in it are added.

    Raises:
        SettingsError: the Temporal configuration in the environment is invalid.
        UsageError: the environment does not name the cluster, and not exactly one installation does.

    """
    temporal_settings(environment)  # raises before anything is asked
    try:
        identity, found = await _both(settings, environment)
    except KubernetesError as error:
        unreachable = Finding(
            severity=FindingSeverity.PROBLEM,
            reason="KubernetesUnreachable",
            what=f"the cluster cannot be looked at, because {in_mid_sentence(error.message)}",
            advice="correct KUBECONFIG, or the API server",
        )
        identity, found = None, [unreachable, *await temporal_findings(environment, ())]
    ordered = sorted(found, key=lambda finding: list(FindingSeverity).index(finding.severity))
    return Examined(cluster=identity, findings=tuple(ordered))


async def _both(settings: Settings, environment: Mapping[str, str]) -> tuple[str, list[Finding]]:
    async with await Transport.connect() as transport:
        connection = ClusterConnection.over(transport)
        if CLUSTER_VARIABLE not in environment:
            if (installed := await find_installation(connection.client, None)) is None:
                why = "no installation was found in the cluster"
                raise UsageError(f"{CLUSTER_VARIABLE}: must be set, or give --cluster: {why}")
            settings = Settings.from_environment({**environment, **installed.environment})
        identity = await read_cluster_identity(connection.client, settings.cluster)
        expected = identities(settings.cluster, identity)
        async with WorkloadConnections(connection.client) as workload_clusters:
            cluster = ExaminedCluster(
                ClusterConnections(connection, workload_clusters),
                settings,
                expected,
                temporal_namespace(environment),
            )
            try:
                back_off_limit = (await cluster.policy()).policy.back_off_limit
            except (KubernetesError, ValidationError):  # another finding
                back_off_limit = DEFAULTS.back_off_limit
            of_cluster, of_temporal = await asyncio.gather(
                _asked(cluster),
                temporal_findings(environment, expected, back_off_limit),
            )
    if any(finding.reason == "OtherInstallation" for finding in of_cluster):
        # A wrong name of the cluster explains a missing worker.
        of_temporal = [finding for finding in of_temporal if finding.reason != NO_WORKER]
    return expected[0], [*of_cluster, *of_temporal]


async def _asked(cluster: ExaminedCluster) -> list[Finding]:
    """All findings about the cluster, and one for all questions that one request leaves without an answer."""
    found: list[Finding] = []
    unanswered: dict[str, tuple[KubernetesError, list[str]]] = {}
    for question in QUESTIONS:
        try:
            found += await question.findings(cluster)
        except KubernetesError as error:
            unanswered.setdefault(error.message, (error, []))[1].append(question.reason)
    is_one_of_us = bool(unanswered) and await cluster.is_one_of_us()
    return [*found, *(cannot_look(*each, is_one_of_us=is_one_of_us) for each in unanswered.values())]


def cannot_look(error: KubernetesError, reasons: Iterable[str], *, is_one_of_us: bool) -> Finding:
    """The finding for questions that one request leaves without an answer; each reason is named once."""
    what = f"cannot look for {', '.join(dict.fromkeys(reasons))}: {in_mid_sentence(error.message)}"
    severity, advice = FindingSeverity.WARNING, "make it possible, or run this as a user who may"
    if is_one_of_us and isinstance(error, Forbidden):
        # Our processes have only the rights that they need.
        severity, advice = FindingSeverity.NOTE, "an administrator can see it"
    return Finding(severity=severity, reason="CannotLook", what=what, advice=advice)
