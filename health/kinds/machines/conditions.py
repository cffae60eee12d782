"""The conditions of a check of Machines that both APIs have (MHC A.1, CAPI B.1, rules 27, 31, 45 and 55).

- `RemediationAllowed`: False while the check is held as a whole, with the reason; for the threshold with its
  numbers. For a check that cannot be read it is False too, with the severity Error, the reason InvalidSpec,
  and field and value. The reference controllers write it for the threshold only.
- `ExternalRemediationTemplateAvailable`, only with a template: False while the template is unusable.
- `ExternalRemediationRequestAvailable`, only with a template: False while a request cannot be created,
  because its kind does not exist or the API server refused the latest one for an unhealthy Machine.

Incidents report refusals of the API server. A new leader keeps the stored condition until all relevant
incidents have reported, so a restart turns no condition True. The reference controllers only ever set the
last two to False, and lose them; the reasons are theirs, except the one for an existing unusable template,
which they do not report.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.check.threshold import Allowance
from health.gate.check_holds import BRIEF_REASONS
from health.kinds.check_kind import UNREADABLE, FailingCondition
from health.kinds.machines.check import NOT_CREATED, MachineCheck
from health.kinds.machines.status_conditions import Changes, StatusCondition, Stored
from health.kinds.machines.threshold import held_message
from health.model.invalid_check import InvalidCheckError
from health.model.observation import HoldReason
from health.model.stored_status import stored_condition, string
from objects.timestamps import as_time

REMEDIATION_ALLOWED = "RemediationAllowed"
TEMPLATE_AVAILABLE = "ExternalRemediationTemplateAvailable"
REQUEST_AVAILABLE = "ExternalRemediationRequestAvailable"
TOO_MANY_UNHEALTHY, INVALID_SPEC = "TooManyUnhealthy", "InvalidSpec"
"""Two reasons of RemediationAllowed."""

_CONFIRM = "restore what it names, or confirm with the annotation that the message names"
FAILING = (
    FailingCondition(
        type=REMEDIATION_ALLOWED,
        status="False",
        finding=UNREADABLE,
        words="is marked as one that cannot be read",
        only_for=INVALID_SPEC,
    ),
    *(
        FailingCondition(
            type=REMEDIATION_ALLOWED,
            status="False",
            finding=reason.value,
            words=words,
            only_for=reason.value,
            advice=_CONFIRM,
        )
        for reason, words in (
            (HoldReason.WORKLOAD_CLUSTER_CHANGED, "is held until a person confirms its workload cluster"),
            (HoldReason.NODES_VANISHED, "is held until its Nodes are back, or a person confirms their loss"),
        )
    ),
    FailingCondition(
        type=TEMPLATE_AVAILABLE,
        status="False",
        finding="TemplateUnavailable",
        words="cannot use its template",
    ),
    FailingCondition(
        type=REQUEST_AVAILABLE, status="False", finding="RequestUnavailable", words="cannot make its request"
    ),
)


def changes(snapshot: CheckSnapshot, stored: Stored) -> Changes:
    """The changes to a list of conditions of a check that is not paused.

    It is unknown whether a check that cannot be read still has a template.
    """
    if isinstance(snapshot.check, InvalidCheckError):
        return Changes((not_allowed(INVALID_SPEC, str(snapshot.check), "Error"),))
    if not isinstance(snapshot.check, MachineCheck) or snapshot.allowance is None:
        return Changes()
    allowed = _remediation_allowed(snapshot, snapshot.check, snapshot.allowance)
    if snapshot.check.template is None:
        return Changes((allowed,), frozenset({TEMPLATE_AVAILABLE, REQUEST_AVAILABLE}))
    return Changes((allowed, _template_available(snapshot), *_request_available(snapshot, stored)))


def not_allowed(reason: str, message: str, severity: str = "Warning") -> StatusCondition:
    return StatusCondition(
        type=REMEDIATION_ALLOWED, status="False", reason=reason, message=message, severity=severity
    )


def is_restricted_by_threshold(snapshot: CheckSnapshot) -> bool:
    """True if the threshold holds the check, and no earlier rule does."""
    hold = snapshot.holds.first
    return hold is not None and hold.reason is HoldReason.THRESHOLD


def was_restricted(stored: Mapping[str, Any]) -> bool:
    """True if the status says that targets got no Events: there was a hold, or no status at all."""
    condition = stored_condition(stored, REMEDIATION_ALLOWED)
    return condition.get("status") != "True" and string(condition, "reason") not in BRIEF_REASONS


def held_since(stored: Mapping[str, Any], reason: str) -> datetime | None:
    """When the hold of this reason began, by the status of a check; None: the status does not tell.

    The older form of a condition has the time of its last change.
    """
    condition = stored_condition(stored, REMEDIATION_ALLOWED)
    shown = TOO_MANY_UNHEALTHY if reason == HoldReason.THRESHOLD else reason
    is_shown = condition.get("status") == "False" and string(condition, "reason") == shown
    return as_time(condition.get("lastTransitionTime")) if is_shown else None


def _remediation_allowed(
    snapshot: CheckSnapshot, check: MachineCheck[Any], allowance: Allowance
) -> StatusCondition:
    hold = snapshot.holds.first
    if hold is not None and hold.reason is not HoldReason.THRESHOLD:
        held = snapshot.holds.shown(hold)
        return not_allowed(held.reason, held.message)
    if allowance.allowed:
        return _true(REMEDIATION_ALLOWED)
    return not_allowed(TOO_MANY_UNHEALTHY, held_message(allowance, check.spec.trigger))


def _template_available(snapshot: CheckSnapshot) -> StatusCondition:
    problem = snapshot.holds.problem
    if problem is None or problem.reason == NOT_CREATED:
        return _true(TEMPLATE_AVAILABLE)
    return StatusCondition(
        type=TEMPLATE_AVAILABLE,
        status="False",
        reason=f"External{problem.reason}",
        message=problem.message,
        severity="Error",
    )


def _request_available(snapshot: CheckSnapshot, stored: Stored) -> tuple[StatusCondition, ...]:
    """False for the first refusal by the name of the Machine, unless no request can be created at all."""
    problem = snapshot.holds.problem
    errors = [target.request_error for _, target in sorted(snapshot.targets.items()) if target.request_error]
    if problem is not None and problem.reason == NOT_CREATED:
        errors = [problem.message]
    if errors:
        return (
            StatusCondition(
                type=REQUEST_AVAILABLE,
                status="False",
                reason=f"External{NOT_CREATED}",
                message=errors[0],
                severity="Error",
            ),
        )
    # A request may have been refused whose incident has not reported to this leader yet.
    is_unreported = any(not target.is_heard and not target.requests for target in snapshot.expired)
    is_known_as_false = string(stored_condition(stored, REQUEST_AVAILABLE), "status") == "False"
    return () if is_unreported and is_known_as_false else (_true(REQUEST_AVAILABLE),)


def _true(type_: str) -> StatusCondition:
    return StatusCondition(type=type_, status="True", reason=type_)
