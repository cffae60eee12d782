"""What the detector does for MachineHealthChecks of OpenShift: a target is a Machine with its Node."""

from detector.openshift.machine_check_metrics import MachineCheckMetrics
from detector.openshift.machine_join import MachineJoin
from detector.watched_kind import KindMetrics, WatchedKind, WatchedTargets
from health.kinds.openshift.machine import Machine

WATCHED_MACHINE_HEALTH_CHECK = WatchedKind(
    targets=WatchedTargets(Machine, MachineJoin),
    metrics=lambda cluster_state, is_leader: KindMetrics((MachineCheckMetrics(cluster_state, is_leader),)),
)
