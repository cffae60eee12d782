"""MachineHealthCheck of OpenShift as one of the kinds of health check."""

from health.kinds.check_kind import CheckKind
from health.kinds.openshift.check import API_VERSION, KIND, MachineHealthCheck
from health.kinds.openshift.events import events
from health.kinds.openshift.machine import KIND as MACHINE
from health.kinds.openshift.remediation_request import is_unsigned_for, owner_of
from health.kinds.openshift.status import status_patch
from health.kinds.openshift.target_events import request_lost

MACHINE_HEALTH_CHECK = CheckKind(
    kind=KIND,
    api_version=API_VERSION,
    plural="machinehealthchecks",
    is_namespaced=True,
    target_kind=MACHINE,
    parse=MachineHealthCheck.parse,
    status_patch=status_patch,
    events=events,
    request_lost=request_lost,
    component="machinehealthcheck-controller",
    owner_of=owner_of,
    is_unsigned_for=is_unsigned_for,
)
