"""ClusterConnections: to the cluster that checks are in, and to those that the Nodes of targets are in."""

from dataclasses import dataclass

from kube.connection import ClusterConnection
from kube.errors import NotConfigured
from kube.workload_connections import WorkloadConnections
from objects.clusters import MANAGEMENT_CLUSTER, SecretField


@dataclass(frozen=True)
class ClusterConnections:
    """The clusters of one process, by name."""

    management: ClusterConnection
    workload_clusters: WorkloadConnections

    async def of(self, cluster: str, kubeconfig: SecretField | None) -> ClusterConnection:
        """The connection to this cluster, by what its Secret says now.

        Raises:
            KubernetesError: as `WorkloadConnections.connect`; NotConfigured also where no Secret is known.

        """
        if cluster == MANAGEMENT_CLUSTER:
            return self.management
        if kubeconfig is None:
            raise NotConfigured(f"no Secret is known that has a kubeconfig of the cluster {cluster}")
        return await self.workload_clusters.connect(cluster, kubeconfig)
