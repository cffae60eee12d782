"""The detector's part for MachineHealthChecks of OpenShift: a target is a Machine with its Node."""

from detector.openshift.machine_check_metrics import MachineCheckMetrics
from detector.state.cluster_state import ClusterState
from detector.state.machine_join import MachineJoin
from detector.watched_kind import KindMetrics, WatchedKind, WatchedTargets
from health.kinds.machines.machine import KIND
from health.kinds.openshift.machine import Machine, MachineTarget
from health.model.node import Node


def _target(machine: Machine, node: Node | None, *, is_read: bool) -> MachineTarget:
    return MachineTarget(machine, node, is_node_unread=not is_read)


def machine_join(cluster_state: ClusterState) -> MachineJoin:
    """Makes targets of Machines whose Nodes are in the management cluster."""
    return MachineJoin(cluster_state, KIND, _target)


WATCHED_MACHINE_HEALTH_CHECK = WatchedKind(
    targets=WatchedTargets(
        Machine,
        machine_join,
    ),
    metrics=lambda cluster_state, is_leader: KindMetrics((MachineCheckMetrics(cluster_state, is_leader),)),
)
