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

Machine APIs have two forms of a condition. In the older one, of v1beta1, a condition that is not True has a
severity, and a True one at most a message; lastTransitionTime moves with any change. The newer one is
metav1.Condition: each has a reason, a message and the observed generation of its object, and
lastTransitionTime moves with the status. Conditions of others stay unchanged and in place, and an unchanged
list is never written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from health.check.check_snapshot import CheckSnapshot
from health.gate.check_holds import BRIEF_REASONS
from health.kinds.check_kind import UNREADABLE, FailingCondition
from health.kinds.machines.check import NOT_CREATED, MachineCheck, held_message
from health.model.observation import HoldReason
from health.model.stored_status import stored_condition, string
from objects.timestamps import as_time, stamp

REMEDIATION_ALLOWED = "RemediationAllowed"
TEMPLATE_AVAILABLE = "ExternalRemediationTemplateAvailable"
REQUEST_AVAILABLE = "ExternalRemediationRequestAvailable"
TOO_MANY_UNHEALTHY, INVALID_SPEC = "TooManyUnhealthy", "InvalidSpec"
"""Two reasons of RemediationAllowed."""
_LONGEST, _LONGEST_OF_OLD = 32768, 10240
"""The longest message in each form, in characters."""
_COMPARED = ("status", "severity", "reason", "message", "observedGeneration")

Stored: TypeAlias = Mapping[str, Any]
"""A stored object with a list of `conditions`, which other clients may have written."""


@dataclass(frozen=True, kw_only=True)
class StatusCondition:
    """One of our conditions with its desired values."""

    type: str
    status: str
    reason: str
    message: str = ""
    severity: str = "Warning"
    deprecated_reason: str | None = None
    """The reason in the older form, if it differs."""
    deprecated_message: str | None = None
    has_deprecated_twin: bool = True
    """False for a condition that never existed in the older form."""


@dataclass(frozen=True)
class Changes:
    """The changes to make in one list of conditions."""

    wanted: tuple[StatusCondition, ...] = ()
    gone: frozenset[str] = frozenset()
    """Types to remove."""


@dataclass(frozen=True)
class Form:
    """The form of a list, with the time and generation to write."""

    now: datetime
    is_old: bool = True
    generation: int = 0


def listed(stored: Stored) -> list[Any]:
    found = stored.get("conditions")
    return list(found) if isinstance(found, list | tuple) else []


def updated(stored: Stored, changes: Changes, form: Form) -> list[Any]:
    """The list with the changes; new conditions stand at its end, and correct ones stay as they are."""
    wanted, now = {condition.type: condition for condition in changes.wanted}, stamp(form.now)
    found = []
    for condition in listed(stored):
        type_ = type_of(condition)
        if type_ in changes.gone:
            continue
        change = wanted.pop(type_, None)
        if change is not None:
            is_moved = form.is_old or string(condition, "status") != change.status
            since = now if is_moved else string(condition, "lastTransitionTime") or now
            written = _written(change, since, form)
            is_same = all((condition.get(key) or "") == written.get(key, "") for key in _COMPARED)
            found.append(condition if is_same else written)
        else:
            found.append(condition)
    return [*found, *(_written(condition, now, form) for condition in wanted.values())]


def type_of(stored: object) -> str:
    """The type of a stored condition; "" for any other value."""
    return string(stored, "type") if isinstance(stored, Mapping) else ""


def _written(wanted: StatusCondition, since: str, form: Form) -> dict[str, Any]:
    written = {"type": wanted.type, "status": wanted.status, "lastTransitionTime": since}
    if not form.is_old:
        observed = {"observedGeneration": form.generation} if form.generation else {}
        return written | observed | {"reason": wanted.reason, "message": wanted.message[:_LONGEST]}
    reason = wanted.reason if wanted.deprecated_reason is None else wanted.deprecated_reason
    message = wanted.message if wanted.deprecated_message is None else wanted.deprecated_message
    of_message = {"message": message[:_LONGEST_OF_OLD]} if message else {}
    if wanted.status != "True":
        return written | {"severity": wanted.severity, "reason": reason} | of_message
    return written | ({"reason": reason} | of_message if of_message else {})


_CONFIRM = "restore what it names, or confirm with the annotation that the message names"
FAILING = (
    FailingCondition(
        type=REMEDIATION_ALLOWED,
        finding=UNREADABLE,
        words="is marked as one that cannot be read",
        only_for=INVALID_SPEC,
    ),
    FailingCondition(
        type=REMEDIATION_ALLOWED,
        finding=HoldReason.WORKLOAD_CLUSTER_CHANGED,
        words="is held until a person confirms its workload cluster",
        only_for=HoldReason.WORKLOAD_CLUSTER_CHANGED,
        advice=_CONFIRM,
    ),
    FailingCondition(
        type=REMEDIATION_ALLOWED,
        finding=HoldReason.NODES_VANISHED,
        words="is held until its Nodes are back, or a person confirms their loss",
        only_for=HoldReason.NODES_VANISHED,
        advice=_CONFIRM,
    ),
    FailingCondition(type=TEMPLATE_AVAILABLE, finding="TemplateUnavailable", words="cannot use its template"),
    FailingCondition(type=REQUEST_AVAILABLE, finding="RequestUnavailable", words="cannot make its request"),
)


def changes(snapshot: CheckSnapshot, stored: Stored) -> Changes:
    """The changes to a list of conditions of a check that is not paused.

    It is unknown whether a check that cannot be read still has a template.
    """
    check, allowance = snapshot.check, snapshot.allowance
    if check is None:
        return Changes((not_allowed(INVALID_SPEC, str(snapshot.parsed.problem), "Error"),))
    if not isinstance(check, MachineCheck) or allowance is None:
        return Changes()
    hold, problem = snapshot.holds.first, snapshot.holds.problem
    if hold is not None and hold.reason is not HoldReason.THRESHOLD:
        held = snapshot.holds.shown(hold)
        allowed = not_allowed(held.reason, held.message)
    elif allowance.allowed:
        allowed = _true(REMEDIATION_ALLOWED)
    else:
        allowed = not_allowed(TOO_MANY_UNHEALTHY, held_message(allowance, check.spec.trigger))
    if check.template is None:
        return Changes((allowed,), frozenset({TEMPLATE_AVAILABLE, REQUEST_AVAILABLE}))
    # The first refusal by the name of the Machine, unless no request can be created at all.
    errors = [target.request_error for _, target in sorted(snapshot.targets.items()) if target.request_error]
    template = _true(TEMPLATE_AVAILABLE)
    if problem is not None and problem.reason == NOT_CREATED:
        errors = [problem.message]
    elif problem is not None:
        template = _unavailable(TEMPLATE_AVAILABLE, problem.reason, problem.message)
    if errors:
        return Changes((allowed, template, _unavailable(REQUEST_AVAILABLE, NOT_CREATED, errors[0])))
    # A request may have been refused whose incident has not reported to this leader yet.
    is_unreported = any(not target.is_heard and not target.requests for target in snapshot.expired)
    is_known_as_false = string(stored_condition(stored, REQUEST_AVAILABLE), "status") == "False"
    is_kept = is_unreported and is_known_as_false
    return Changes((allowed, template, *(() if is_kept else (_true(REQUEST_AVAILABLE),))))


def not_allowed(reason: str, message: str, severity: str = "Warning") -> StatusCondition:
    return StatusCondition(
        type=REMEDIATION_ALLOWED, status="False", reason=reason, message=message, severity=severity
    )


def _unavailable(type_: str, reason: str, message: str) -> StatusCondition:
    return StatusCondition(
        type=type_, status="False", reason=f"External{reason}", message=message, severity="Error"
    )


def _true(type_: str) -> StatusCondition:
    return StatusCondition(type=type_, status="True", reason=type_)


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
