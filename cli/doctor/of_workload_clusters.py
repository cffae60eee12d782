"""Questions about the workload clusters that checks name: their kubeconfig, their Nodes, our rights there.

The clusters are examined concurrently, each with a time limit, so a cluster that does not answer delays no
other. Kubeconfigs are read as our processes read them, and their content is never shown.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationError

from activities.attempt import StepHeld
from activities.live_objects import LiveObjects
from activities.registry import KIND_ACTIVITIES
from cli.doctor.cluster import ExaminedCluster
from cli.doctor.finding import Finding, FindingRules, FindingSeverity, Found
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.kinds.check_kind import CheckKind
from health.kinds.right import Process
from kube.errors import Forbidden, KubernetesError
from kube.resource import NODES
from kube.workload_connections import ClusterConnections
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from runtime.rights import EVIDENCE_IN_WORKLOAD_CLUSTERS, IN_WORKLOAD_CLUSTERS, granted_by, refused_verbs

OF_WORKLOAD_CLUSTERS = FindingRules[ExaminedCluster]()
PATIENCE = timedelta(seconds=10)
"""The limit for each cluster; a healthy one takes milliseconds."""


@dataclass(frozen=True)
class KubeconfigSecret:
    """A workload cluster, and the Secret of its kubeconfig."""

    name: str
    secret: SecretField
    granted_by: str
    """The file with a role that lets our processes read that Secret."""
    saves_evidence: bool = False
    """True if a check asks for evidence of its Nodes."""


async def workload_clusters(cluster: ExaminedCluster) -> list[KubeconfigSecret]:
    """The clusters whose Nodes the valid checks judge.

    Raises:
        KubernetesError: an object that a check names cannot be read.

    """
    live, found = LiveObjects(cluster.connections, KIND_ACTIVITIES), []
    for kind in cluster.settings.check_kinds:
        if kind.kubeconfig is not None:
            checks = await cluster.readable(kind)
            contexts = await asyncio.gather(*(_context_of(live, check) for check in checks))
            found += judged_clusters(kind, zip(checks, contexts, strict=True))
    return found


async def _context_of(live: LiveObjects, check: HealthCheck) -> ClusterContext:
    try:
        return await live.context(check)
    except (ValidationError, StepHeld):  # StepHeld: an object that it names is missing, such as its Cluster
        return ClusterContext()  # the status of the check reports the hold


def judged_clusters(
    kind: CheckKind, judged: Iterable[tuple[HealthCheck, ClusterContext]]
) -> list[KubeconfigSecret]:
    """The clusters whose Nodes these checks judge, each in its context."""
    if kind.kubeconfig is None:
        return []
    named = [(check.node_cluster(context), check.choices.evidence is not None) for check, context in judged]
    with_evidence = {name for name, saves_evidence in named if saves_evidence}
    return [
        KubeconfigSecret(name, kind.kubeconfig(name), kind.kubeconfig_roles, name in with_evidence)
        for name in sorted({name for name, _ in named} - {MANAGEMENT_CLUSTER})
    ]


@OF_WORKLOAD_CLUSTERS.finds(
    "WorkloadClusterUnusable",
    FindingSeverity.PROBLEM,
    "correct that Secret, the rights of its identity, the API server or the network; the status of its "
    "checks has the hold",
)
async def unusable(cluster: ExaminedCluster) -> Found:
    for found in await unusable_findings(cluster.connections, await workload_clusters(cluster)):
        yield found


async def unusable_findings(
    connections: ClusterConnections, clusters: Sequence[KubeconfigSecret], patience: timedelta = PATIENCE
) -> list[Finding]:
    """The findings about all these clusters, which are examined concurrently."""
    found = await asyncio.gather(*(_examine(connections, one, patience) for one in clusters))
    return [finding for of_one in found for finding in of_one]


async def _examine(
    connections: ClusterConnections, cluster: KubeconfigSecret, patience: timedelta
) -> list[Finding]:
    needs = [*granted_by(IN_WORKLOAD_CLUSTERS)]
    if cluster.saves_evidence:
        needs += granted_by(EVIDENCE_IN_WORKLOAD_CLUSTERS)
    try:
        connection = await connections.of(cluster.name, cluster.secret)
    except Forbidden as error:  # the caller may not read the Secret, and our processes may
        what = f"cannot look at the workload cluster {cluster.name}: {error.message.rstrip('.')}"
        advice = "make it possible, or run this as a user who may"
        return [Finding(severity=FindingSeverity.WARNING, reason="CannotLook", what=what, advice=advice)]
    except KubernetesError as error:
        return [unusable.finding(f"workload cluster {cluster.name}: {error.message.rstrip('.')}")]
    try:
        async with asyncio.timeout(patience.total_seconds()):
            await connection.transport.request("GET", NODES.path(), query=[("limit", "1")])
            refused = await refused_verbs(connection.client, needs)
    except (KubernetesError, TimeoutError) as error:
        late = f"its API server does not answer within {patience.total_seconds():g} s"
        why = error.message.rstrip(".") if isinstance(error, KubernetesError) else late
        return [unusable.finding(f"workload cluster {cluster.name}: {why}, with {cluster.secret}")]
    return [
        Finding(
            severity=FindingSeverity.PROBLEM,
            reason="WorkloadRightMissing",
            what=f"the identity in {cluster.secret} may not {', '.join(verbs)} {need} "
            f"in the workload cluster {cluster.name}",
            advice=f"apply {need.granted_by} there",
        )
        for need, verbs in refused.items()
        if need.process is Process.DETECTOR  # the worker has the same identity
    ]
