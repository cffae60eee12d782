"""The activities of each kind of check. A new kind is a folder of its own and a name here."""

from typing import Any

from activities.clusterapi.kind import ClusterApiActivities
from activities.kind_activities import KindActivities
from activities.nodehealthcheck.kind import NodeActivities
from activities.openshift.kind import MachineActivities
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from objects.group_kind import GroupKind

KIND_ACTIVITIES: dict[GroupKind, KindActivities[Any, Any]] = {
    NODE_HEALTH_CHECK.group_kind: NodeActivities(),
    MACHINE_HEALTH_CHECK.group_kind: MachineActivities(),
    CLUSTER_API_MACHINE_HEALTH_CHECK.group_kind: ClusterApiActivities(),
}
