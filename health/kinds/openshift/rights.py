"""What our processes may have to do for MachineHealthChecks of OpenShift."""

from health.kinds.openshift.machine import GROUP
from health.kinds.right import Process, Right

_BY = "deploy/openshift/machine-health-checks.yaml"

RIGHTS = (
    Right(Process.DETECTOR, GROUP, "machines", ("list", "watch"), granted_by=_BY),
    Right(Process.DETECTOR, GROUP, "machinehealthchecks/status", ("patch",), granted_by=_BY),
    Right(Process.DETECTOR, "", "events", ("create",), granted_by=_BY),
    Right(Process.WORKER, GROUP, "machines", ("delete", "patch"), granted_by=_BY),
    Right(Process.WORKER, GROUP, "machinehealthchecks", ("get", "list"), granted_by=_BY),
    Right(Process.WORKER, "", "events", ("create",), granted_by=_BY),
)
