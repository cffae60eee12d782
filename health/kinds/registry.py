"""The kinds of health check that Paramedic knows. A new kind is a folder of its own and a name here."""

from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK

CHECK_KINDS = {
    kind.group_kind: kind
    for kind in (NODE_HEALTH_CHECK, MACHINE_HEALTH_CHECK, CLUSTER_API_MACHINE_HEALTH_CHECK)
}
HANDLED_BY_DEFAULT = (NODE_HEALTH_CHECK,)
"""The kinds that a process handles without a setting."""
