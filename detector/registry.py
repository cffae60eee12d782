"""The detector's part for each kind of check. A new kind is a folder of its own and an entry here."""

from detector.clusterapi.kind import WATCHED_CLUSTER_API_MACHINE_HEALTH_CHECK
from detector.nodehealthcheck.kind import WATCHED_NODE_HEALTH_CHECK
from detector.openshift.kind import WATCHED_MACHINE_HEALTH_CHECK
from detector.watched_kind import WatchedKind
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from objects.group_kind import GroupKind

WATCHED_KINDS: dict[GroupKind, WatchedKind] = {
    NODE_HEALTH_CHECK.group_kind: WATCHED_NODE_HEALTH_CHECK,
    MACHINE_HEALTH_CHECK.group_kind: WATCHED_MACHINE_HEALTH_CHECK,
    CLUSTER_API_MACHINE_HEALTH_CHECK.group_kind: WATCHED_CLUSTER_API_MACHINE_HEALTH_CHECK,
}
