"""MachineHealthCheck of Cluster API as one of the kinds of health check: its requests and Events (CAPI B.1).

A template without spec.template is allowed: its request only names the Machine (CAPI B.2.5).

The words of Events are those of Cluster API's controller. `MachineMarkedUnhealthy` reports a Machine whose
time is over and that nothing holds, so that it gets its mark or request now. The controller repeats the Event
on each pass, and that of the threshold if a Machine failed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from health.check.check_snapshot import TargetSnapshot
from health.cluster.upgrade import UpgradeSignal
from health.kinds.check_kind import CheckKind
from health.kinds.clusterapi.check import KIND, MachineHealthCheck
from health.kinds.clusterapi.cluster import CHECK, cluster_of, kubeconfig_secret
from health.kinds.clusterapi.group import CLUSTER_NAME, CONTROL_PLANE_GROUP, GROUP, VERSIONS
from health.kinds.clusterapi.machine import MACHINES, Machine, MachineTarget
from health.kinds.clusterapi.machine_conditions import TARGET_REPORTS
from health.kinds.clusterapi.status import FAILING, PAUSED, held_since, status_patch
from health.kinds.machines.check import held_message
from health.kinds.machines.events import RESTRICTED, MachineEvents, MachineNote, of_act, restricted
from health.kinds.machines.remediation_request import MachineRequests, request_body, spec_template
from health.model.references import CheckReference, Step
from health.model.remediation_request import RemediationAttempt
from health.model.stored_status import stored_condition
from health.model.verdict import Health
from objects.event import Event, Severity

REQUESTS = MachineRequests(check=CHECK, api_versions=MACHINES.api_versions)


def new_request(
    attempt: RemediationAttempt, step: Step, *, template: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    """The request of `attempt` to create: spec.template of the template, for this Machine."""
    contents = spec_template(template) or {}
    body = request_body(attempt, step.template, contents, machine, machine.api_version)
    body["metadata"]["labels"][CLUSTER_NAME] = machine.cluster_name
    return body


def _path_of(check: CheckReference, machine: str, _node: str = "") -> str:
    return f"{check.namespace}/{machine}"


def _notes(
    check: CheckReference, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[MachineNote]:
    # Another fact of the same Machine is the same failure.
    if _is_remediated(after) and not (before is not None and _is_remediated(before)):
        path = _path_of(check, after.name)
        message = f"Machine {path} has been marked as unhealthy by {check.namespace}/{check.name}"
        yield MachineNote("MachineMarkedUnhealthy", message)


def _is_remediated(target: TargetSnapshot) -> bool:
    is_held = any(hold is not None for hold in (target.hold, target.back_off, target.found))
    return target.verdict.health is Health.EXPIRED and not is_held


EVENTS = MachineEvents(
    path=_path_of,
    notes=_notes,
    exceeded=held_message,
    needs_failure=True,
    was_paused=lambda stored: stored_condition(stored, PAUSED).get("status") == "True",
)


def marking_failed(attempt: RemediationAttempt, target: MachineTarget, why: str) -> Event:
    """The Event that the API server refused to mark it for its owner."""
    path = _path_of(attempt.incident.check, target.metadata.name)
    message = restricted(path, f"it cannot be marked for its owner: {why}")
    return of_act(attempt, Severity.WARNING, RESTRICTED, message)


ROLLING_OUT = tuple(
    UpgradeSignal(f"{CONTROL_PLANE_GROUP}/{version}", "KubeadmControlPlane", "RollingOut", "True")
    for version in VERSIONS
)
"""Reported since Cluster API 1.9, in v1beta1 beside the older conditions; a missing kind signals nothing."""


CLUSTER_API_MACHINE_HEALTH_CHECK = CheckKind(
    group=GROUP,
    kind=KIND,
    plural="machinehealthchecks",
    versions=VERSIONS,
    is_namespaced=True,
    targets=MACHINES,
    parse=MachineHealthCheck.parse,
    status_patch=status_patch,
    events=EVENTS.events,
    request_lost=EVENTS.request_lost,
    component="machinehealthcheck-controller",
    held_since=held_since,
    failing_conditions=FAILING,
    roles=("deploy/components/cluster-api/machine-health-checks.yaml",),
    operator="Cluster API",
    operator_lease="controller-leader-election-capi",
    operator_guide="docs/cluster-api-switch.md#switch",
    operator_manager="manager",
    owner_of=REQUESTS.owner_of,
    is_unsigned_for=REQUESTS.is_unsigned_for,
    target_reports=TARGET_REPORTS,
    kubeconfig=kubeconfig_secret,
    kubeconfig_roles="deploy/examples/kubeconfig-secrets.yaml",
    upgrade_signals=ROLLING_OUT,
    cluster_of=cluster_of,
)
