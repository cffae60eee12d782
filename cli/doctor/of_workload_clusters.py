"""Workload clusters that checks name: whether each has a kubeconfig that may be used, and shows its Nodes.

They are looked at all at once, each for a bounded time: one that does not answer delays none. A kubeconfig is
read as our processes read it, and nothing of what is in it is shown. The API
server of that cluster answers what its identity may do there (SelfSubjectAccessReview).
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from cli.doctor.finding import Finding, problem, warning
from cli.doctor.rights import Rights
from health.gate.cluster_context import ClusterContext
from health.gate.health_check import HealthCheck
from health.kinds.check_kind import CheckKind
from health.kinds.right import Part, Right
from kube.cluster_connections import ClusterConnections
from kube.connection import ClusterConnection
from kube.errors import Forbidden, KubernetesError, NotConfigured, Unauthorized
from kube.resource import NODES
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from runtime.rights import (
    needs_for_evidence_in_workload_clusters,
    needs_for_secret,
    needs_in_workload_clusters,
)

PATIENCE = timedelta(seconds=10)
"""For the answer of each; a healthy one takes milliseconds."""


@dataclass(frozen=True)
class WorkloadCluster:
    """One of them, and where its kubeconfig is."""

    name: str
    secret: SecretField
    part: Part
    """Which rights let our processes read that Secret."""
    saves_evidence: bool = False
    """Whether a check has evidence of its Nodes saved."""

    @property
    def needs(self) -> Iterator[Right]:
        """What our processes must be allowed to do for it in the management cluster."""
        return needs_for_secret(self.part, self.secret.namespace, self.secret.name)


def workload_clusters(
    kind: CheckKind, judged: Iterable[tuple[HealthCheck, ClusterContext]]
) -> list[WorkloadCluster]:
    """Those in which the verdicts of these checks, each in its context, read Nodes."""
    if kind.kubeconfig is None or kind.kubeconfig_part is None:
        return []
    named = [(check.node_cluster(context), check.choices.evidence is not None) for check, context in judged]
    with_evidence = {name for name, saves_evidence in named if saves_evidence}
    return [
        WorkloadCluster(name, kind.kubeconfig(name), kind.kubeconfig_part, name in with_evidence)
        for name in sorted({name for name, _ in named} - {MANAGEMENT_CLUSTER})
    ]


async def workload_findings(
    connections: ClusterConnections, clusters: Iterable[WorkloadCluster], patience: timedelta = PATIENCE
) -> list[Finding]:
    """What is wrong with each."""
    found = await asyncio.gather(*(_examine(connections, one, patience) for one in clusters))
    return [finding for of_one in found for finding in of_one]


async def _examine(
    connections: ClusterConnections, cluster: WorkloadCluster, patience: timedelta
) -> list[Finding]:
    try:
        connection = await connections.of(cluster.name, cluster.secret)
    except NotConfigured as error:
        advice = "mend that Secret; it is read again by itself"
        return [problem("KubeconfigUnusable", f"{_held(cluster)}: {_clause(error)}", advice)]
    except KubernetesError as error:
        what = f"cannot look at the workload cluster {cluster.name}: {_clause(error)}"
        return [warning("CannotLook", what, "make it possible, or run this as somebody who may")]
    of_nodes = await _examine_nodes(cluster, connection, patience)
    return [of_nodes] if of_nodes is not None else await _examine_rights(cluster, connection, patience)


async def _examine_rights(
    cluster: WorkloadCluster, connection: ClusterConnection, patience: timedelta
) -> list[Finding]:
    needs = [*needs_in_workload_clusters()]
    if cluster.saves_evidence:
        needs += needs_for_evidence_in_workload_clusters()
    try:
        async with asyncio.timeout(patience.total_seconds()):
            refused = await Rights(connection.client, "").refused_to_us(needs)
    except (KubernetesError, TimeoutError) as error:
        why = _clause(error) if isinstance(error, KubernetesError) else "it does not answer in time"
        what = f"cannot ask the workload cluster {cluster.name} what our processes may do there: {why}"
        return [warning("RightsUnknown", what, "make it possible, or look at its roles")]
    return [_may_not(cluster, need, verbs) for need, verbs in refused]


def _may_not(cluster: WorkloadCluster, need: Right, verbs: Iterable[str]) -> Finding:
    what = (
        f"the {need.process} may not {', '.join(verbs)} {need} in the workload cluster {cluster.name} "
        f"as the identity in {cluster.secret}"
    )
    return problem("WorkloadRightMissing", what, f"apply {need.granted_by} there")


async def _examine_nodes(
    cluster: WorkloadCluster, connection: ClusterConnection, patience: timedelta
) -> Finding | None:
    try:
        await connection.transport.request("GET", NODES.path(), query=[("limit", "1")], timeout=patience)
    except (Forbidden, Unauthorized) as error:
        advice = f"let the identity in {cluster.secret} get, list and watch nodes there"
        return problem("NodesForbidden", f"{_held(cluster)}: {_clause(error)}", advice)
    except KubernetesError as error:
        what = f"the workload cluster {cluster.name} does not show its Nodes here: {_clause(error)}"
        advice = "mend its API server, or the way to it; whether the detector sees it, its checks say"
        return problem("WorkloadClusterUnreachable", what, advice)
    return None


def _held(cluster: WorkloadCluster) -> str:
    return f"the checks of the workload cluster {cluster.name} are held"


def _clause(error: KubernetesError) -> str:
    return error.message.rstrip(".")
