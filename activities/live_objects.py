"""LiveObjects: check and target of an incident, as the API servers have them now.

Checks and targets are in the management cluster. The Node of a target may be in another, and is read there.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeAlias

from activities.step_result import StepHeld
from health.gate.cluster_context import ClusterContext
from health.gate.cluster_identity import KnownCluster, changed_hold
from health.gate.health_check import HealthCheck
from health.kinds.registry import CHECK_KINDS
from health.model.node import Node
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.target import Target
from kube.absence import none_if_absent
from kube.cluster_connections import ClusterConnections
from kube.connection import ClusterConnection
from kube.errors import KindUnknown
from kube.resource import KUBE_SYSTEM, NAMESPACES, NODES, Object
from kube.shared_reads import SharedReads
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from objects.group_kind import GroupKind

TargetReader: TypeAlias = Callable[["LiveObjects", TargetReference, ClusterContext], Awaitable[Target]]
"""Raises KubernetesError, NotFound where the target is no more, and ValidationError."""
KnownClusters: TypeAlias = Callable[[str], Awaitable[KnownCluster]]
"""What is known of a workload cluster; raises KubernetesError."""
IDENTIFY_AGAIN_SECONDS = 5.0
"""A detector notes a cluster within a second after it has seen it first, or a person confirmed it."""
ContextReader: TypeAlias = Callable[["LiveObjects", HealthCheck], Awaitable[ClusterContext]]
"""What of the cluster context the rules of a kind rest on; raises KubernetesError and ValidationError."""


async def no_context(live: "LiveObjects", check: HealthCheck) -> ClusterContext:  # noqa: ARG001  as ContextReader
    """Of a kind whose rules rest on targets alone."""
    return ClusterContext()


class Readers(NamedTuple):
    """How what one kind of check rests on is read."""

    target: TargetReader
    context: ContextReader = no_context


class LiveObjects:
    """Reads afresh; targets and their context as `readers` say, by kind of check."""

    def __init__(
        self,
        clusters: ClusterConnections,
        readers: Mapping[GroupKind, Readers],
        known_clusters: KnownClusters | None = None,
    ) -> None:
        """`known_clusters` reads the note about a workload cluster; None: no identity is compared."""
        self._clusters = clusters
        self._known_clusters = known_clusters
        self.management = clusters.management
        self.shared = SharedReads(clusters.management.client)
        """Reads of the management cluster that many acts have in common."""
        self._readers = readers

    async def check(self, reference: CheckReference) -> Object:
        """The check, in the first version of its kind that we read and the API server serves.

        Raises:
            KubernetesError: as the client does.

        """
        kind, discovery = CHECK_KINDS[reference.group_kind], self.management.discovery
        try:
            resource = await discovery.first_served(kind)
            return await self.shared.get(resource, reference.name, reference.namespace)
        except KindUnknown:  # what is remembered of it is old
            for api_version in kind.api_versions:
                discovery.forget(api_version)
            raise

    async def context(self, check: HealthCheck) -> ClusterContext:
        """What of the cluster context the rules of `check` rest on.

        Raises:
            KubernetesError: as the client does.
            ValidationError: it cannot be read.

        """
        return await self._readers[check.reference.group_kind].context(self, check)

    async def target(self, incident: IncidentReference, context: ClusterContext) -> Target:
        """The target of that name, whatever uid it has.

        Raises:
            KubernetesError: as the client does; NotFound also where the target is no more.
            ValidationError: it cannot be read.

        """
        return await self._readers[incident.check.group_kind].target(self, incident.target, context)

    async def node_of(
        self, target: Target, kubeconfig: SecretField | None = None, owner: str = ""
    ) -> Node | None:
        """The Node that the target is linked to, from the cluster that it is in.

        In another cluster only where that is the one that is known under `owner`, the uid of its Cluster.

        `kubeconfig` says where the kubeconfig of that cluster is, as CheckKind.kubeconfig does; it is read
        where that is not the management cluster.

        None: it is linked to none, or the API server of that cluster itself says that it is not there (rule
        26).

        Raises:
            Held: it is another cluster than the one that is known.
            KubernetesError: as the client does; NotConfigured where nothing says how to connect there.
            ValidationError: it cannot be read.

        """
        if not target.node_name:
            return None
        connection = await self._clusters.of(target.node_cluster, kubeconfig)
        await self._identify(target.node_cluster, connection, owner)
        found = await none_if_absent(connection.client.get(NODES, target.node_name))
        return None if found is None else Node.model_validate(found)

    async def _identify(self, cluster: str, connection: ClusterConnection, owner: str) -> None:
        if cluster == MANAGEMENT_CLUSTER or self._known_clusters is None:
            return
        known = await self._known_clusters(cluster)
        found = await none_if_absent(connection.client.get(NAMESPACES, KUBE_SYSTEM))
        uid = "" if found is None else str(found["metadata"]["uid"])
        if not known.is_one(owner, uid):
            hold = changed_hold(cluster, known, uid)
            raise StepHeld(hold.model_copy(update={"ask_again_seconds": IDENTIFY_AGAIN_SECONDS}))

    async def node_cluster_of(self, incident: IncidentReference, target: Target) -> ClusterConnection:
        """The connection to the cluster in which the Node of the incident's target is.

        Raises:
            KubernetesError: nothing says how to connect there, or nothing that may be used.

        """
        kubeconfig = CHECK_KINDS[incident.check.group_kind].kubeconfig
        secret = None if kubeconfig is None else kubeconfig(target.node_cluster)
        return await self._clusters.of(target.node_cluster, secret)
