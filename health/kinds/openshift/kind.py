"""MachineHealthCheck of OpenShift as one of the kinds of health check, with its status (MHC A.1).

Nothing is written to the status of a paused check. A check that cannot be read loses its old numbers and
allows nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.check.annotated_hold import PAUSED, is_paused
from health.check.check_snapshot import CheckSnapshot
from health.kinds.check_kind import CheckKind
from health.kinds.machines.conditions import FAILING, changes, held_since
from health.kinds.machines.status_conditions import Form, updated
from health.kinds.machines.threshold import remediations_allowed
from health.kinds.openshift.check import KIND, MachineHealthCheck
from health.kinds.openshift.events import EVENTS
from health.kinds.openshift.machine import GROUP, MACHINES, VERSION
from health.kinds.openshift.remediation_request import REQUESTS
from health.upgrade.pausable_check import PauseAnnotations

Status = Mapping[str, Any]


def status_patch(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    """The merge patch that corrects `stored`; empty if it is correct."""
    if is_paused(snapshot):
        return {}
    conditions = updated(stored, changes(snapshot, stored), Form(now))
    wanted = {**_numbers(snapshot, stored), "conditions": conditions}
    return {key: value for key, value in wanted.items() if stored.get(key) != value}


def _numbers(snapshot: CheckSnapshot, stored: Status) -> dict[str, int | None]:
    """The numbers for a merge patch, in which None removes a field."""
    if snapshot.allowance is None:
        allowed = 0 if "remediationsAllowed" in stored else None
        return {"expectedMachines": None, "currentHealthy": None, "remediationsAllowed": allowed}
    return {
        "expectedMachines": snapshot.allowance.total,
        "currentHealthy": snapshot.allowance.healthy,
        # Zero is written too: a merge patch without the field would keep the old number.
        "remediationsAllowed": remediations_allowed(snapshot.allowance),
    }


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
    held_since=held_since,
    failing_conditions=FAILING,
    roles=("deploy/components/openshift-machines/machine-health-checks.yaml",),
    operator="machine-api-operator",
    operator_lease="cluster-api-provider-healthcheck-leader",
    owner_of=REQUESTS.owner_of,
    is_unsigned_for=REQUESTS.is_unsigned_for,
    upgrade_pause=PauseAnnotations(paused=PAUSED, mark="machine.openshift.io/paused-for-upgrade"),
    upgrade_pause_roles=("deploy/components/openshift/upgrade-pause.yaml",),
)
