"""MachineHealthCheck of OpenShift as one of the kinds of health check."""

from health.check_kind import CheckKind
from health.openshift.act_events import request_lost
from health.openshift.check import API_VERSION, KIND, MachineHealthCheck
from health.openshift.events import announcements
from health.openshift.machine import KIND as MACHINE
from health.openshift.remediation_request import is_unsigned_for, owner_of
from health.openshift.status import status_patch

MACHINE_HEALTH_CHECK = CheckKind(
    kind=KIND,
    api_version=API_VERSION,
    plural="machinehealthchecks",
    is_namespaced=True,
    target_kind=MACHINE,
    parse=MachineHealthCheck.parse,
    status_patch=status_patch,
    announcements=announcements,
    request_lost=request_lost,
    component="machinehealthcheck-controller",
    owner_of=owner_of,
    is_unsigned_for=is_unsigned_for,
)
