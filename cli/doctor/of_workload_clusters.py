"""Findings about the workload clusters that checks name: their kubeconfig, their Nodes, our rights there.

They are examined concurrently, each with a time limit, so a cluster that does not answer delays no other.
Kubeconfigs are read as our processes read them, and their content is never shown. The API server of each
cluster answers what its identity may do there (SelfSubjectAccessReview).
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationError

from activities.live_objects import LiveObjects
from activities.registry import readers
from activities.step_result import StepHeld
from cli.doctor.finding import Finding, problem, warning
from cli.doctor.rights import Rights
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.kinds.check_kind import CheckKind
from health.kinds.right import Right, RightsGroup
from kube.connection import ClusterConnection
from kube.errors import Forbidden, KubernetesError, NotConfigured, Unauthorized
from kube.resource import NODES
from kube.workload_connections import ClusterConnections
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from runtime.rights import (
    needs_for_evidence_in_workload_clusters,
    needs_for_secret,
    needs_in_workload_clusters,
)

PATIENCE = timedelta(seconds=10)
"""The limit for each cluster; a healthy one takes milliseconds."""


@dataclass(frozen=True)
class KubeconfigSecret:
    """A workload cluster, and the Secret of its kubeconfig."""

    name: str
    secret: SecretField
    part: RightsGroup
    """The rights that let our processes read that Secret."""
    saves_evidence: bool = False
    """Whether a check asks for evidence of its Nodes."""

    @property
    def needs(self) -> Iterator[Right]:
        """The rights that our processes need for it in the management cluster."""
        return needs_for_secret(self.part, self.secret.namespace, self.secret.name)


async def find_workload_clusters(
    connections: ClusterConnections, kind: CheckKind, checks: Sequence[HealthCheck]
) -> list[KubeconfigSecret]:
    """The clusters whose Nodes these checks judge.

    Raises:
        KubernetesError: an object that a check names cannot be read.

    """
    if kind.kubeconfig is None:
        return []
    live = LiveObjects(connections, readers())
    contexts = await asyncio.gather(*(_context_of(live, check) for check in checks))
    return workload_clusters(kind, zip(checks, contexts, strict=True))


async def _context_of(live: LiveObjects, check: HealthCheck) -> ClusterContext:
    try:
        return await live.context(check)
    except (ValidationError, StepHeld):  # StepHeld: an object that it names is missing, such as its Cluster
        return ClusterContext()  # the status of the check reports the hold


def workload_clusters(
    kind: CheckKind, judged: Iterable[tuple[HealthCheck, ClusterContext]]
) -> list[KubeconfigSecret]:
    """The clusters whose Nodes these checks judge, each in its context."""
    if kind.kubeconfig is None or kind.kubeconfig_part is None:
        return []
    named = [(check.node_cluster(context), check.choices.evidence is not None) for check, context in judged]
    with_evidence = {name for name, saves_evidence in named if saves_evidence}
    return [
        KubeconfigSecret(name, kind.kubeconfig(name), kind.kubeconfig_part, name in with_evidence)
        for name in sorted({name for name, _ in named} - {MANAGEMENT_CLUSTER})
    ]


async def workload_findings(
    connections: ClusterConnections, clusters: Iterable[KubeconfigSecret], patience: timedelta = PATIENCE
) -> list[Finding]:
    """The findings about all these clusters, which are examined concurrently."""
    found = await asyncio.gather(*(_examine(connections, cluster, patience) for cluster in clusters))
    return [finding for of_one in found for finding in of_one]


async def _examine(
    connections: ClusterConnections, cluster: KubeconfigSecret, patience: timedelta
) -> list[Finding]:
    try:
        connection = await connections.of(cluster.name, cluster.secret)
    except NotConfigured as error:
        advice = "correct that Secret; it is read again automatically"
        return [problem("KubeconfigUnusable", f"{_held(cluster)}: {_clause(error)}", advice)]
    except KubernetesError as error:
        what = f"cannot look at the workload cluster {cluster.name}: {_clause(error)}"
        return [warning("CannotLook", what, "make it possible, or run this as a user who may")]
    of_nodes = await _examine_nodes(cluster, connection, patience)
    return [of_nodes] if of_nodes is not None else await _examine_rights(cluster, connection, patience)


async def _examine_rights(
    cluster: KubeconfigSecret, connection: ClusterConnection, patience: timedelta
) -> list[Finding]:
    needs = [*needs_in_workload_clusters()]
    if cluster.saves_evidence:
        needs += needs_for_evidence_in_workload_clusters()
    try:
        async with asyncio.timeout(patience.total_seconds()):
            refused = await Rights(connection.client, "").refused_to_us(needs)
    except (KubernetesError, TimeoutError) as error:
        why = _clause(error) if isinstance(error, KubernetesError) else "it does not answer in time"
        what = f"cannot review the rights of our processes in the workload cluster {cluster.name}: {why}"
        return [warning("RightsUnknown", what, "make it possible, or look at its roles")]
    return [_may_not(cluster, need, verbs) for need, verbs in refused]


def _may_not(cluster: KubeconfigSecret, need: Right, verbs: Iterable[str]) -> Finding:
    what = (
        f"the {need.process} may not {', '.join(verbs)} {need} in the workload cluster {cluster.name} "
        f"as the identity in {cluster.secret}"
    )
    return problem("WorkloadRightMissing", what, f"apply {need.granted_by} there")


async def _examine_nodes(
    cluster: KubeconfigSecret, connection: ClusterConnection, patience: timedelta
) -> Finding | None:
    try:
        await connection.transport.request("GET", NODES.path(), query=[("limit", "1")], timeout=patience)
    except (Forbidden, Unauthorized) as error:
        advice = f"let the identity in {cluster.secret} get, list and watch nodes there"
        return problem("NodesForbidden", f"{_held(cluster)}: {_clause(error)}", advice)
    except KubernetesError as error:
        what = f"the workload cluster {cluster.name} does not show its Nodes here: {_clause(error)}"
        advice = "repair its API server or the network; the status of its checks says what the detector sees"
        return problem("WorkloadClusterUnreachable", what, advice)
    return None


def _held(cluster: KubeconfigSecret) -> str:
    return f"the checks of the workload cluster {cluster.name} are held"


def _clause(error: KubernetesError) -> str:
    return error.message.rstrip(".")
