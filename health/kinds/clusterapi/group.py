"""The API group of Cluster API: its versions, and the labels that we honour.

v1beta2 is read where it is served, otherwise v1beta1 (rule 32).
"""

GROUP = "cluster.x-k8s.io"
V1BETA2, V1BETA1 = f"{GROUP}/v1beta2", f"{GROUP}/v1beta1"
VERSIONS = ("v1beta2", "v1beta1")
CONTROL_PLANE_GROUP = f"controlplane.{GROUP}"

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
"""The label of everything that belongs to a Cluster."""
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
"""The label of Machines of the control plane."""
