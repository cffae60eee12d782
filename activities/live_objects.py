"""LiveObjects: check and target of an incident, as the API servers have them now.

Checks and targets are in the management cluster. The Node of a target may be in another cluster, and is read
there.
"""

from collections.abc import Mapping
from typing import Protocol

from activities.attempt import StepHeld
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.cluster.cluster_identity import NOT_KNOWN, UNREADABLE, KnownCluster, changed_hold, read_note
from health.kinds.registry import CHECK_KINDS
from health.model.node import Node
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.target import Target
from kube.client import SharedReads
from kube.connection import ClusterConnection, ClusterConnections
from kube.errors import none_if_absent
from kube.resource import KUBE_SYSTEM, LEASES, NAMESPACES, NODES, Object
from objects.clusters import MANAGEMENT_CLUSTER, SecretField, is_of
from objects.group_kind import GroupKind

IDENTIFY_AGAIN_SECONDS = 5.0
"""The detector records a cluster within a second after it saw it first, or after a person's confirmation."""


class KindReads(Protocol):
    """The reads that differ by kind of check; each raises KubernetesError and ValidationError."""

    async def read_target(
        self, live: "LiveObjects", reference: TargetReference, context: ClusterContext
    ) -> Target:
        """The target of that name, with any uid; raises NotFound also if the target is gone."""

    async def read_context(self, live: "LiveObjects", check: HealthCheck) -> ClusterContext:
        """The cluster context that the rules of `check` use."""


class LiveObjects:
    """Reads live objects; targets and their context through `readers`, by kind of check.

    Each method raises KubernetesError as the client does, and ValidationError if the object cannot be read.
    """

    def __init__(
        self,
        clusters: ClusterConnections,
        readers: Mapping[GroupKind, KindReads],
        known_on: tuple[str, str] | None = None,
    ) -> None:
        """`known_on` is the leader Lease, by namespace and name; None: identities are not compared."""
        self._clusters = clusters
        self._known_on = known_on
        self.management = clusters.management
        self.shared = SharedReads(clusters.management.client)
        """Reads of the management cluster that concurrent acts share."""
        self._readers = readers

    async def check(self, reference: CheckReference) -> Object:
        """The check, in the first version of its kind that we read and the API server serves."""
        resource = await self.management.discovery.first_served(CHECK_KINDS[reference.group_kind])
        return await self.shared.get(resource, reference.name, reference.namespace)

    async def context(self, check: HealthCheck) -> ClusterContext:
        """The cluster context that the rules of `check` use."""
        return await self._readers[check.reference.group_kind].read_context(self, check)

    async def target(self, incident: IncidentReference, context: ClusterContext) -> Target:
        """The target of that name, with any uid; raises NotFound also if the target is gone."""
        return await self._readers[incident.check.group_kind].read_target(self, incident.target, context)

    async def node_of(
        self, target: Target, kubeconfig: SecretField | None = None, owner: str = ""
    ) -> Node | None:
        """The Node that the target is linked to, from its cluster.

        In a workload cluster only if that is the known cluster of `owner`, the uid of its Cluster.
        `kubeconfig` names the Secret with the kubeconfig of that cluster, as CheckKind.kubeconfig does; it
        is not read for the management cluster.

        None: it is linked to none, or the API server of that cluster itself says that the Node does not
        exist (rule 26).

        Raises:
            StepHeld: it is another cluster than the known one.
            NotConfigured: no kubeconfig is named.

        """
        if not target.node_name:
            return None
        client = (await self._clusters.of(target.node_cluster, kubeconfig)).client
        known = await self._known(target.node_cluster)
        if known is not None:
            namespace = await none_if_absent(client.get(NAMESPACES, KUBE_SYSTEM))
            uid = "" if namespace is None else str(namespace["metadata"]["uid"])
            if not known.is_one(owner, uid):
                raise StepHeld.by_hold(changed_hold(target.node_cluster, known, uid), IDENTIFY_AGAIN_SECONDS)
        found = await none_if_absent(client.get(NODES, target.node_name))
        return None if found is None else Node.model_validate(found)

    async def node_cluster_of(self, incident: IncidentReference, target: Target) -> ClusterConnection:
        """The connection to the cluster of the target's Node; raises NotConfigured without a kubeconfig."""
        kubeconfig = CHECK_KINDS[incident.check.group_kind].kubeconfig
        secret = None if kubeconfig is None else kubeconfig(target.node_cluster)
        return await self._clusters.of(target.node_cluster, secret)

    async def quorum_of(self, cluster: str, identity: str) -> str:
        """The cluster whose members of a quorum take turns with those of `cluster`.

        A cluster that manages itself is the management cluster, which has this `identity`.
        """
        known = await self._known(cluster)
        return MANAGEMENT_CLUSTER if known is not None and is_of(identity, known.uid) else cluster

    async def _known(self, cluster: str) -> KnownCluster | None:
        """The detector's record of a workload cluster, in an annotation of the leader Lease (ADR 41).

        None: it is the management cluster, or identities are not compared.
        """
        if cluster == MANAGEMENT_CLUSTER or self._known_on is None:
            return None
        namespace, name = self._known_on
        lease = await none_if_absent(self.shared.get(LEASES, name, namespace))
        if lease is None:
            return NOT_KNOWN
        noted = read_note(lease["metadata"].get("annotations") or {})
        return UNREADABLE if noted is None else noted.get(cluster, NOT_KNOWN)
