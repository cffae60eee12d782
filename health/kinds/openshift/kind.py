"""MachineHealthCheck of OpenShift as one of the kinds of health check."""

from health.check.pause import PAUSED
from health.kinds.check_kind import CheckKind
from health.kinds.machines.conditions import FAILING
from health.kinds.openshift.check import KIND, MachineHealthCheck
from health.kinds.openshift.events import EVENTS
from health.kinds.openshift.machine import GROUP, MACHINES, VERSION, mark_on
from health.kinds.openshift.remediation_request import is_unsigned_for, owner_of
from health.kinds.openshift.rights import RIGHTS, UPGRADE_PAUSE_RIGHTS
from health.kinds.openshift.status import status_patch
from health.upgrade.pausable_check import PauseAnnotations

MACHINE_HEALTH_CHECK = CheckKind(
    group=GROUP,
    kind=KIND,
    plural="machinehealthchecks",
    versions=(VERSION,),
    is_namespaced=True,
    targets=MACHINES,
    parse=MachineHealthCheck.parse,
    status_patch=status_patch,
    events=EVENTS.events,
    request_lost=EVENTS.request_lost,
    component="machinehealthcheck-controller",
    failing_conditions=FAILING,
    rights=RIGHTS,
    operator="machine-api-operator",
    operator_lease="cluster-api-provider-healthcheck-leader",
    owner_of=owner_of,
    is_unsigned_for=is_unsigned_for,
    mark_on=mark_on,
    upgrade_pause=PauseAnnotations(paused=PAUSED, mark="machine.openshift.io/paused-for-upgrade"),
    upgrade_pause_rights=UPGRADE_PAUSE_RIGHTS,
)
