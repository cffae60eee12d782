"""The conditions that we write on a MachineHealthCheck (MHC A.1, rule 27).

- `RemediationAllowed`: False while the check is held as a whole, with the reason (rule 55). For a check that
  cannot be read it is False too, with the severity Error, the reason InvalidSpec, and field and value. The
  machine-api-operator writes it for the threshold only.
- `ExternalRemediationTemplateAvailable`, only with a template: False while the template is unusable.
- `ExternalRemediationRequestAvailable`, only with a template: False while a request cannot be created,
  because its kind does not exist or the API server refused the latest one for an unhealthy Machine.

Incidents report refusals of the API server. A new leader keeps the stored condition until all relevant
incidents have reported, so a restart turns no condition True. A True condition has no other field. The
machine-api-operator only ever sets the last two to False, and loses them; the reasons are its own, except
the one for an existing unusable template, which it does not report.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.check.threshold import Allowance, IntOrPercent
from health.cluster.cluster_context import CheckProblem
from health.kinds.check_kind import UNREADABLE, FailingCondition
from health.kinds.machines.believed import NOT_BELIEVED
from health.kinds.machines.request_problem import NOT_CREATED, may_be_untold, request_error
from health.kinds.machines.restriction import (
    INVALID_SPEC,
    REMEDIATION_ALLOWED,
    TOO_MANY_UNHEALTHY,
    restriction,
)
from health.kinds.openshift.check import MachineHealthCheck
from health.model.invalid_check import InvalidCheckError

TEMPLATE_AVAILABLE = "ExternalRemediationTemplateAvailable"
REQUEST_AVAILABLE = "ExternalRemediationRequestAvailable"

FAILING = (
    FailingCondition(
        REMEDIATION_ALLOWED, "False", UNREADABLE, "is marked as one that cannot be read", INVALID_SPEC
    ),
    *NOT_BELIEVED,
    FailingCondition(TEMPLATE_AVAILABLE, "False", "TemplateUnavailable", "cannot use its template"),
    FailingCondition(REQUEST_AVAILABLE, "False", "RequestUnavailable", "cannot make its request"),
)

SAID = ("status", "severity", "reason", "message")
"""The fields of a condition besides its type."""

Condition = dict[str, str]
"""A condition without lastTransitionTime."""


def conditions(snapshot: CheckSnapshot, known_request: Mapping[str, Any]) -> Iterator[Condition]:
    """All our conditions; `known_request` is the stored last one, empty if there is none."""
    if isinstance(snapshot.check, InvalidCheckError):
        yield _false(REMEDIATION_ALLOWED, "Error", INVALID_SPEC, str(snapshot.check))
        return
    if not isinstance(snapshot.check, MachineHealthCheck) or snapshot.allowance is None:
        return
    held = restriction(snapshot)
    if held is not None:
        yield _false(REMEDIATION_ALLOWED, "Warning", held.reason, held.message)
    else:
        yield _remediation_allowed(snapshot.allowance, snapshot.check.spec.max_unhealthy)
    if snapshot.check.template is not None:
        yield _template_available(snapshot.holds.problem)
        yield _request_available(snapshot, known_request)


def numbers(decided: Allowance, most: IntOrPercent) -> str:
    """The numbers behind the decision, in the words of the machine-api-operator."""
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
    if problem is None or problem.reason == NOT_CREATED:
        return _true(TEMPLATE_AVAILABLE)
    return _false(TEMPLATE_AVAILABLE, "Error", f"External{problem.reason}", problem.message)


def _request_available(snapshot: CheckSnapshot, known: Mapping[str, Any]) -> Condition:
    error = request_error(snapshot)
    if error:
        return _false(REQUEST_AVAILABLE, "Error", f"External{NOT_CREATED}", error)
    if may_be_untold(snapshot) and known.get("status") == "False":
        return {key: known[key] for key in ("type", *SAID) if known.get(key)}
    return _true(REQUEST_AVAILABLE)


def _true(type_: str) -> Condition:
    return {"type": type_, "status": "True"}


def _false(type_: str, severity: str, reason: str, message: str) -> Condition:
    return {"type": type_, "status": "False", "severity": severity, "reason": reason, "message": message}
