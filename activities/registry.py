"""The activities of each kind of check, and the guards of every kind.

A new kind is a folder of its own and a name here. A new guard is a file of its own and a name here.
"""

from activities.clusterapi.kind import CLUSTER_API_ACTIVITIES
from activities.etcd import Etcd
from activities.kind_activities import KindActivities, NewStepGuard
from activities.nodehealthcheck.kind import NODE_ACTIVITIES
from activities.openshift.kind import MACHINE_ACTIVITIES
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from objects.group_kind import GroupKind

KIND_ACTIVITIES: dict[GroupKind, KindActivities] = {
    NODE_HEALTH_CHECK.group_kind: NODE_ACTIVITIES,
    MACHINE_HEALTH_CHECK.group_kind: MACHINE_ACTIVITIES,
    CLUSTER_API_MACHINE_HEALTH_CHECK.group_kind: CLUSTER_API_ACTIVITIES,
}
STEP_GUARDS: tuple[NewStepGuard, ...] = (Etcd,)
"""Asked in this order for checks of all kinds, because each kind may select control-plane nodes."""
