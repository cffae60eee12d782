"""The conditions of a MachineHealthCheck that are ours (A.1, decision 27), as they ought to be now.

- `RemediationAllowed`: what the threshold says. Of a check that cannot be read it is False as well, with the
  severity Error, the reason InvalidSpec, and field and value: nothing is remediated, and this is where people
  and alerts look for why. The reference has no condition for it.
- `ExternalRemediationTemplateAvailable`, only with a template: False while that cannot be used.
- `ExternalRemediationRequestAvailable`, only with a template: False while a request cannot be created.

A condition that is True says nothing else. The reference sets the last two to False, and loses them; the
reasons are its own, but for a template that is there and cannot be used, which it tells nobody.
"""

from collections.abc import Iterator

from health.check_problem import CheckProblem
from health.check_sight import CheckSight
from health.health_check import InvalidCheckError
from health.openshift.check import MachineHealthCheck
from health.threshold import Allowance, IntOrPercent

REMEDIATION_ALLOWED = "RemediationAllowed"
TEMPLATE_AVAILABLE = "ExternalRemediationTemplateAvailable"
REQUEST_AVAILABLE = "ExternalRemediationRequestAvailable"
TOO_MANY_UNHEALTHY = "TooManyUnhealthy"
INVALID_SPEC = "InvalidSpec"

Condition = dict[str, str]
"""Without lastTransitionTime."""


def conditions(sight: CheckSight) -> Iterator[Condition]:
    """All that are ours."""
    if isinstance(sight.check, InvalidCheckError):
        yield _false(REMEDIATION_ALLOWED, "Error", INVALID_SPEC, str(sight.check))
        return
    if not isinstance(sight.check, MachineHealthCheck) or sight.allowance is None:
        return
    yield _remediation_allowed(sight.allowance, sight.check.spec.max_unhealthy)
    if sight.check.template is not None:
        yield _template_available(sight.around.problem)
        yield _request_available(sight)


def numbers(decided: Allowance, most: IntOrPercent) -> str:
    """What decided, as the reference tells it."""
    unhealthy = decided.total - decided.healthy
    return f"(total: {decided.total}, unhealthy: {unhealthy}, maxUnhealthy: {most})"


def _remediation_allowed(decided: Allowance, most: IntOrPercent) -> Condition:
    if decided.allowed:
        return _true(REMEDIATION_ALLOWED)
    message = (
        "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy "
        f"{numbers(decided, most)}"
    )
    return _false(REMEDIATION_ALLOWED, "Warning", TOO_MANY_UNHEALTHY, message)


def _template_available(problem: CheckProblem | None) -> Condition:
    if problem is None:
        return _true(TEMPLATE_AVAILABLE)
    return _false(TEMPLATE_AVAILABLE, "Error", f"External{problem.reason}", problem.message)


def _request_available(sight: CheckSight) -> Condition:
    refused = [target for _, target in sorted(sight.targets.items()) if target.request_refusal]
    if not refused:
        return _true(REQUEST_AVAILABLE)
    reason = "ExternalRemediationRequestCreationFailed"
    return _false(REQUEST_AVAILABLE, "Error", reason, refused[0].request_refusal)


def _true(type_: str) -> Condition:
    return {"type": type_, "status": "True"}


def _false(type_: str, severity: str, reason: str, message: str) -> Condition:
    return {"type": type_, "status": "False", "severity": severity, "reason": reason, "message": message}
