"""The conditions that we write on a MachineHealthCheck (CAPI B.1, rules 31 and 45).

- `RemediationAllowed`: False while the check is held as a whole, with the reason (rule 55); for the
  threshold with its numbers. A check whose spec cannot be read says so here too.
- `Paused`: whether it is paused, in the words of Cluster API's controller; while it is, nothing else is
  changed.
- `ExternalRemediationTemplateAvailable`, only with a template: False while the template is unusable.
- `ExternalRemediationRequestAvailable`, only with a template: False while a request cannot be created.

Cluster API's controller writes the last two only in the deprecated form, and loses them. We write them in
both, because a schema may drop one of the lists.
"""

from dataclasses import dataclass

from health.check.check_snapshot import CheckSnapshot
from health.check.pause import PAUSED as PAUSE_ANNOTATION
from health.check.pause import is_paused
from health.check.threshold import Allowance
from health.kinds.check_kind import UNREADABLE, FailingCondition
from health.kinds.clusterapi.check import KIND, MachineHealthCheck
from health.kinds.clusterapi.cluster import CLUSTER_NOT_FOUND
from health.kinds.clusterapi.status_conditions import Changes, StatusCondition, Stored
from health.kinds.clusterapi.threshold import Trigger, UnhealthyRange
from health.kinds.machines.believed import NOT_BELIEVED
from health.kinds.machines.request_problem import NOT_CREATED, may_be_untold, request_error
from health.kinds.machines.restriction import (
    INVALID_SPEC,
    REMEDIATION_ALLOWED,
    TOO_MANY_UNHEALTHY,
    restriction,
)
from health.model.invalid_check import InvalidCheckError
from health.model.observation import HoldReason
from health.model.stored_status import stored_condition, string

PAUSED = "Paused"
TEMPLATE_AVAILABLE = "ExternalRemediationTemplateAvailable"
REQUEST_AVAILABLE = "ExternalRemediationRequestAvailable"

FAILING = (
    FailingCondition(
        REMEDIATION_ALLOWED, "False", UNREADABLE, "is marked as one that cannot be read", INVALID_SPEC
    ),
    FailingCondition(REMEDIATION_ALLOWED, "False", "ClusterMissing", "has no Cluster", CLUSTER_NOT_FOUND),
    *NOT_BELIEVED,
    FailingCondition(TEMPLATE_AVAILABLE, "False", "TemplateUnavailable", "cannot use its template"),
    FailingCondition(REQUEST_AVAILABLE, "False", "RequestUnavailable", "cannot make its request"),
)


@dataclass(frozen=True)
class BlockingReason:
    """Why nothing can be said about the Machines of a check."""

    reason: str
    message: str
    severity: str = "Error"


def obstacle(snapshot: CheckSnapshot) -> BlockingReason | None:
    """The blocking reason of a check that is not paused; None without one."""
    if isinstance(snapshot.check, InvalidCheckError):
        return BlockingReason(INVALID_SPEC, str(snapshot.check))
    problem, hiding = snapshot.holds.problem, snapshot.holds.hiding_targets
    if problem is not None and problem.reason == CLUSTER_NOT_FOUND:
        return BlockingReason(problem.reason, problem.message)
    if hiding is not None:
        return BlockingReason(hiding.reason, hiding.message, "Warning")
    return None


def changes(snapshot: CheckSnapshot, stored: Stored) -> Changes:
    """The changes to a list of its conditions."""
    if is_paused(snapshot):
        return Changes((_paused(snapshot),))
    not_paused = StatusCondition(PAUSED, "False", "NotPaused", severity="Info", has_deprecated_twin=False)
    known = obstacle(snapshot)
    if known is not None:
        of_numbers = _false(REMEDIATION_ALLOWED, known.reason, known.message, known.severity)
        return Changes((of_numbers, not_paused))
    if not isinstance(snapshot.check, MachineHealthCheck) or snapshot.allowance is None:
        return Changes((not_paused,))
    held = restriction(snapshot)
    allowed = (
        _remediation_allowed(snapshot.allowance, snapshot.check.spec.trigger)
        if held is None
        else _false(REMEDIATION_ALLOWED, held.reason, held.message, "Warning")
    )
    if snapshot.check.template is None:
        return Changes((allowed, not_paused), frozenset({TEMPLATE_AVAILABLE, REQUEST_AVAILABLE}))
    of_request = _request_available(snapshot, stored)
    return Changes((allowed, not_paused, _template_available(snapshot), *of_request))


def held_message(decided: Allowance, trigger: Trigger) -> str:
    """The message of a blocking threshold, in the words of Cluster API's controller."""
    is_range = isinstance(trigger, UnhealthyRange)
    compared = "does not fall within the range" if is_range else "exceeds maxUnhealthy"
    field = "unhealthyRange" if is_range else "maxUnhealthy"
    return (
        f"Remediation is not allowed, the number of not started or unhealthy machines {compared} "
        f"(total: {decided.total}, unhealthy: {decided.total - decided.healthy}, {field}: {trigger})"
    )


def _paused(snapshot: CheckSnapshot) -> StatusCondition:
    hold = snapshot.holds.of(HoldReason.PAUSED)
    message = hold.message if hold is not None else f"{KIND} has the {PAUSE_ANNOTATION} annotation"
    return StatusCondition(PAUSED, "True", PAUSED, message, has_deprecated_twin=False)


def _remediation_allowed(decided: Allowance, trigger: Trigger) -> StatusCondition:
    if decided.allowed:
        return _true(REMEDIATION_ALLOWED)
    return _false(REMEDIATION_ALLOWED, TOO_MANY_UNHEALTHY, held_message(decided, trigger), "Warning")


def _template_available(snapshot: CheckSnapshot) -> StatusCondition:
    problem = snapshot.holds.problem
    if problem is None or problem.reason == NOT_CREATED:
        return _true(TEMPLATE_AVAILABLE)
    return _false(TEMPLATE_AVAILABLE, f"External{problem.reason}", problem.message, "Error")


def _request_available(snapshot: CheckSnapshot, stored: Stored) -> tuple[StatusCondition, ...]:
    error = request_error(snapshot)
    if error:
        return (_false(REQUEST_AVAILABLE, f"External{NOT_CREATED}", error, "Error"),)
    is_known_as_false = string(stored_condition(stored, REQUEST_AVAILABLE), "status") == "False"
    # A restart must not turn the condition True.
    return () if may_be_untold(snapshot) and is_known_as_false else (_true(REQUEST_AVAILABLE),)


def _true(type_: str) -> StatusCondition:
    return StatusCondition(type_, "True", type_)


def _false(type_: str, reason: str, message: str, severity: str) -> StatusCondition:
    return StatusCondition(type_, "False", reason, message, severity)
