"""MachineHealthCheck of OpenShift as one of the kinds of health check: requests, Events and status (MHC A.1).

The words of Events are those of the machine-api-operator (MHC A.1/event). `DetectedUnhealthy` is for a
Machine whose timer runs. A Machine that fails at once, without a timer, gets the Event of its deletion or
mark, or of their failure. `SkippedNoController` is for one whose time is over and that has no controller to
replace it. The activity that deletes or marks a Machine emits the Events about it.

Nothing is written to the status of a paused check. A check that cannot be read loses its old numbers and
allows nothing.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from health.check.annotated_hold import PAUSED, is_paused
from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.threshold import Allowance
from health.kinds.check_kind import CheckKind
from health.kinds.machines.check import Trigger, numbers_in_words, remediations_allowed
from health.kinds.machines.conditions import FAILING, Form, changes, held_since, updated
from health.kinds.machines.events import MachineEvents, MachineNote, of_act
from health.kinds.machines.remediation_request import MachineRequests, request_body
from health.kinds.openshift.check import KIND, MachineHealthCheck
from health.kinds.openshift.machine import API_VERSION, GROUP, MACHINES, VERSION, Machine, MachineTarget
from health.model.observation import HoldReason
from health.model.references import Action, CheckReference, Step
from health.model.remediation_request import InvalidTemplateError, RemediationAttempt, spec_template
from health.upgrade.pausable_check import PauseAnnotations
from objects.event import Event, Severity
from objects.group_kind import GroupKind

REQUESTS = MachineRequests(check=GroupKind(GROUP, KIND), api_versions=(API_VERSION,))


def new_request(
    attempt: RemediationAttempt, step: Step, *, template: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    """The request of `attempt` to create: spec.template of the template, for this Machine.

    Raises:
        InvalidTemplateError: the template has no spec.template.

    """
    contents, named = spec_template(template), step.template
    if contents is None:
        raise InvalidTemplateError(
            f"invalid template {named.namespace}/{named.name}, didn't find spec.template"
        )
    return request_body(attempt, named, contents, machine, API_VERSION)


def _path_of(check: CheckReference, machine: str, node: str) -> str:
    return f"{check.namespace}/{check.name}/{machine}/{node}"


def _notes(
    check: CheckReference, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[MachineNote]:
    path = _path_of(check, after.name, after.node_name)
    fact, deadline = after.verdict.fact, after.verdict.deadline
    has_timer = fact is not None and deadline is not None and deadline > fact.since
    # The machine-api-operator already reported a failure for which it made a request.
    is_known = any(request.is_of_operator for request in after.requests)
    earlier = before.verdict.fact if before is not None else None
    if has_timer and not is_known and not (earlier is not None and earlier.same_as(fact)):
        message = f"Machine {path} has unhealthy node {after.node_name}"
        yield MachineNote("DetectedUnhealthy", message, "HealthCheck")
    if _is_skipped(after) and not (before and _is_skipped(before)):
        message = f"Machine {path} has no controller owner, skipping remediation"
        yield MachineNote("SkippedNoController", message)


def _is_skipped(target: TargetSnapshot) -> bool:
    return target.hold is not None and target.hold.reason is HoldReason.NO_CONTROLLER


def _exceeded(decided: Allowance, trigger: Trigger) -> str:
    said = numbers_in_words(decided, trigger)
    return f"Remediation restricted due to exceeded number of unhealthy machines {said}"


EVENTS = MachineEvents(path=_path_of, notes=_notes, exceeded=_exceeded)


_OF_STEPS = {
    (Action.DELETE, False): (
        "MachineDeleted",
        "Machine {} has been remediated by requesting to delete Machine object",
    ),
    (Action.DELETE, True): (
        "MachineDeletionFailed",
        "Machine {} remediation failed: unable to delete Machine object: {}",
    ),
    (Action.MARK, False): (
        "ExternalAnnotationAdded",
        "Requesting external remediation of node associated with machine {}",
    ),
    (Action.MARK, True): (
        "ExternalAnnotationFailed",
        "Requesting external remediation of node associated with machine {} failed: {}",
    ),
}
"""By step and whether the API server refused it, the reason and the words of the Event."""


def event_of_step(
    attempt: RemediationAttempt, target: MachineTarget, action: Action, refusal: str | None = None
) -> Event:
    """The Event of a deletion or mark; `refusal` is the answer of the API server that refused it."""
    reason, words = _OF_STEPS[action, refusal is not None]
    path = _path_of(attempt.incident.check, target.metadata.name, target.node_name)
    severity = Severity.NORMAL if refusal is None else Severity.WARNING
    return of_act(attempt, severity, reason, words.format(path, refusal))


def status_patch(snapshot: CheckSnapshot, stored: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    if is_paused(snapshot):
        return {}
    numbers = snapshot.allowance
    # Zero is written too: a merge patch without the field would keep the old number.
    allowed = 0 if "remediationsAllowed" in stored else None
    wanted = {
        "expectedMachines": None if numbers is None else numbers.total,
        "currentHealthy": None if numbers is None else numbers.healthy,
        "remediationsAllowed": allowed if numbers is None else remediations_allowed(numbers),
        "conditions": updated(stored, changes(snapshot, stored), Form(now)),
    }
    return {key: value for key, value in wanted.items() if stored.get(key) != value}


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
