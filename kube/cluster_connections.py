"""ClusterConnections: connections to the cluster of the checks, and to those of the targets' Nodes."""

from dataclasses import dataclass

from kube.connection import ClusterConnection
from kube.errors import NotConfigured
from kube.workload_connections import WorkloadConnections
from objects.clusters import MANAGEMENT_CLUSTER, SecretField


@dataclass(frozen=True)
class ClusterConnections:
    """The connections of one process, by the name of the cluster."""

    management: ClusterConnection
    workload_clusters: WorkloadConnections

    async def of(self, cluster: str, kubeconfig: SecretField | None) -> ClusterConnection:
        """The connection to this cluster, by the present content of its Secret.

        Raises:
            KubernetesError: as `WorkloadConnections.connect`; NotConfigured also if no Secret is known.

        """
        if cluster == MANAGEMENT_CLUSTER:
            return self.management
        if kubeconfig is None:
            raise NotConfigured(f"no Secret with a kubeconfig of the cluster {cluster} is known")
        return await self.workload_clusters.connect(cluster, kubeconfig)
