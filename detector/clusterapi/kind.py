"""The detector's part for MachineHealthChecks of Cluster API: Machines here, their Nodes elsewhere.

The Clusters are the context of the checks: they pause checks, and gate unhealthy verdicts.
"""

from detector.state.machine_join import MachineJoin
from detector.watched_kind import WatchedContext, WatchedKind, WatchedTargets
from health.kinds.clusterapi.cluster import CLUSTERS, Cluster, judge
from health.kinds.clusterapi.machine import MACHINES, Machine, MachineTarget
from health.model.node import Node
from health.model.references import kind_name


def _target(machine: Machine, node: Node | None, *, is_read: bool) -> MachineTarget:
    return MachineTarget(machine, node, is_node_unread=not is_read)


WATCHED_CLUSTER_API_MACHINE_HEALTH_CHECK = WatchedKind(
    targets=WatchedTargets(
        Machine, lambda cluster_state: MachineJoin(cluster_state, kind_name(MACHINES.group_kind), _target)
    ),
    cluster_context=WatchedContext(CLUSTERS, Cluster, judge, gates_verdicts=True),
)
