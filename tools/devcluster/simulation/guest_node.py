"""How simulated Nodes appear in a cluster that also has real ones.

They take no Pods: they are tainted, have no room, and are of no operating system that a DaemonSet selects.
They have no address, because network plug-ins would make routes to it. Autoscalers and load balancers leave
them out, and their ROLES in `kubectl get nodes` say what they are.
"""

from types import MappingProxyType

from devcluster.simulation.node_api import Appearance

LABEL, LABEL_VALUE = "demo.paramedic.dev/simulated", "true"
"""Selects the simulated Nodes."""
GUEST = Appearance(
    labels=MappingProxyType(
        {
            LABEL: LABEL_VALUE,
            "node-role.kubernetes.io/paramedic-demo": "",
            "node.kubernetes.io/exclude-from-external-load-balancers": "true",
        }
    ),
    annotations=MappingProxyType({"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}),
    taints=tuple(
        MappingProxyType({"key": LABEL, "value": LABEL_VALUE, "effect": effect})
        for effect in ("NoSchedule", "NoExecute")
    ),
    operating_system="simulated",
    resources=MappingProxyType({"cpu": "0", "memory": "0", "pods": "0"}),
    has_address=False,
)
