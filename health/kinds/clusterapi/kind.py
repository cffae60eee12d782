"""MachineHealthCheck of Cluster API as one of the kinds of health check (CAPI B.1).

Its requests: a template without spec.template is allowed, and its request only names the Machine (CAPI
B.2.5).

The words of Events are those of Cluster API's controller. `MachineMarkedUnhealthy` reports a Machine whose
time is over and that nothing holds, so that it gets its mark or request now. The controller repeats the Event
on each pass, and that of the threshold if a Machine failed.

The status (rules 31 and 45) has the version of the check. While the check is paused only the condition Paused
is written. A check that cannot be read loses its old numbers. While its Machines cannot be read, or it has no
Cluster, the numbers stay. observedGeneration follows the spec only while it can be read. Its conditions:

- Those that both Machine APIs have. RemediationAllowed says here too that a check has no Cluster, or that
  its Machines are unknown; the other two then stay as they are.
- `Paused`: whether it is paused, in the words of Cluster API's controller; while it is, nothing else is
  changed.

Cluster API's controller writes the conditions of templates and requests only in the deprecated form. We write
them in both, because a schema may drop one of the lists.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from health.check.annotated_hold import PAUSED as PAUSE_ANNOTATION
from health.check.annotated_hold import is_paused
from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.cluster.upgrade import UpgradeSignal
from health.kinds.check_kind import CheckKind, FailingCondition
from health.kinds.clusterapi.check import KIND, MachineHealthCheck
from health.kinds.clusterapi.cluster import CHECK, CLUSTER_NOT_FOUND, cluster_of, kubeconfig_secret
from health.kinds.clusterapi.conditions import conditions_patch
from health.kinds.clusterapi.group import CLUSTER_NAME, CONTROL_PLANE_GROUP, GROUP, V1BETA2, VERSIONS
from health.kinds.clusterapi.machine import MACHINES, Machine, MachineTarget
from health.kinds.clusterapi.machine_conditions import TARGET_REPORTS
from health.kinds.machines import conditions as machines
from health.kinds.machines.check import held_message, remediations_allowed
from health.kinds.machines.conditions import (
    REMEDIATION_ALLOWED,
    Changes,
    StatusCondition,
    Stored,
    not_allowed,
)
from health.kinds.machines.events import RESTRICTED, MachineEvents, MachineNote, of_act, restricted
from health.kinds.machines.remediation_request import MachineRequests, request_body
from health.model.observation import HoldReason
from health.model.references import CheckReference, Step
from health.model.remediation_request import RemediationAttempt, spec_template
from health.model.stored_status import stored_condition
from health.model.verdict import Health
from objects.event import Event, Severity
from objects.timestamps import as_time

MOST_TARGETS = 10_000
"""The number of names that the schema allows; of more the first ones are listed."""
_NUMBERS = ("expectedMachines", "currentHealthy", "remediationsAllowed")
PAUSED = "Paused"

FAILING = (
    FailingCondition(
        type=REMEDIATION_ALLOWED,
        finding="ClusterMissing",
        words="has no Cluster",
        only_for=CLUSTER_NOT_FOUND,
    ),
    *machines.FAILING,
)
_NOT_PAUSED = StatusCondition(
    type=PAUSED, status="False", reason="NotPaused", severity="Info", has_deprecated_twin=False
)


def status_patch(snapshot: CheckSnapshot, stored: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    check, numbers = snapshot.check, snapshot.allowance
    api_version = check.api_version if isinstance(check, MachineHealthCheck) else snapshot.parsed.api_version
    of_conditions = conditions_patch(
        stored,
        lambda listed: _changes(snapshot, listed),
        api_version=api_version or V1BETA2,
        generation=snapshot.generation,
        now=now,
    )
    wanted: dict[str, Any] = {}
    if not is_paused(snapshot) and check is None:
        wanted = dict.fromkeys((*_NUMBERS, "targets"))
    elif not is_paused(snapshot) and numbers is not None and _blocked(snapshot) is None:
        wanted = {
            "expectedMachines": numbers.total,
            "currentHealthy": numbers.healthy,
            "remediationsAllowed": remediations_allowed(numbers),
            "observedGeneration": snapshot.generation,
            "targets": sorted(snapshot.selected)[:MOST_TARGETS] or None,
        }
    return {key: value for key, value in wanted.items() if stored.get(key) != value} | of_conditions


def held_since(stored: Mapping[str, Any], reason: str) -> datetime | None:
    """When the hold of this reason began, by the status of a check; None: the status does not tell."""
    paused = stored_condition(stored, PAUSED)
    if reason == HoldReason.PAUSED and paused.get("status") == "True":
        return as_time(paused.get("lastTransitionTime"))
    return machines.held_since(stored, reason)


def _blocked(snapshot: CheckSnapshot) -> StatusCondition | None:
    """Why the Machines of a check that can be read are unknown; None: they are known."""
    problem = snapshot.holds.problem
    if problem is not None and problem.reason == CLUSTER_NOT_FOUND:
        return not_allowed(problem.reason, problem.message, "Error")
    hiding = (held.hold for held in snapshot.holds.found if held.report.hides_targets)
    return next((not_allowed(hold.reason, hold.message) for hold in hiding), None)


def _changes(snapshot: CheckSnapshot, stored: Stored) -> Changes:
    if is_paused(snapshot):
        hold = snapshot.holds.of(HoldReason.PAUSED)
        message = hold.message if hold is not None else f"{KIND} has the {PAUSE_ANNOTATION} annotation"
        return Changes((replace(_NOT_PAUSED, status="True", reason=PAUSED, message=message),))
    blocked = _blocked(snapshot)
    if blocked is not None:
        return Changes((blocked, _NOT_PAUSED))
    found = machines.changes(snapshot, stored)
    return replace(found, wanted=(*found.wanted, _NOT_PAUSED))


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
