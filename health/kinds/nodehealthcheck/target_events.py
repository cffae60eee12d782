"""Events of a NodeHealthCheck about one Node: why it is skipped, and what happened to its requests.

Texts are those of the NodeHealthCheck operator (NHC 1.5) where it has one. Each is emitted once per failure
of the Node (rule 15), whether the detector sees the hold or the latest act found it. A hold of the whole
check is reported for the check only.

The maker of a request emits its Events: for one without an incident that was the NodeHealthCheck operator
(rule 39), which also reports its own deletions after a Node recovered or is no longer a target. A request
does not record who deleted it. If one disappears while its Node stayed unhealthy, the message is true for
any cause: another actor, or our clean-up after an order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from health.check.check_snapshot import REPORTED_WITHIN, CheckSnapshot, TargetSnapshot
from health.check.health_check import HealthCheck
from health.model.observation import HoldReason
from health.model.owner_signs import OwnerSign
from health.model.request_snapshot import RequestSnapshot
from health.runbook.escalation import is_classic
from objects.event import Severity

SKIPPED = "RemediationSkipped"
OVERDUE = "OwnerOverdue"
_SKIPPED: Mapping[str, str] = {
    HoldReason.EXCLUDED: "Remediation skipped on node {name}: node has Exclude from Remediation label",
    HoldReason.CONTROL_PLANE: (
        "Skipping remediation of {name} for preventing control plane / etcd quorum loss, "
        "going to retry in a minute"
    ),
    HoldReason.TAKEN: "Skipped remediation of node: {name}, because node lease is already taken: {why}",
}
_OTHERS = "Skipped remediation of node: {name}, because {why}"
"""The message for a hold that the NodeHealthCheck operator does not have."""
_REPORTED_OTHERWISE = frozenset(
    {HoldReason.SUSPECTED_OUTAGE, HoldReason.APPROVAL_REQUIRED, HoldReason.STEP_REJECTED}
)
"""Holds of many Nodes at once (rule 6), and those whose question or order has an Event on the Node."""
_YOUNG = timedelta(minutes=10)
"""A new leader emits the Event of a request this recent, or one made while no detector led."""


@dataclass(frozen=True, kw_only=True)
class TargetNote:
    """An Event about a Node; equal seeds are one Event."""

    severity: Severity
    reason: str
    message: str
    seed: tuple[str, ...]
    why: str = ""
    """The words of the hold, where the message of the operator does not have them."""


def skipped_because_of(back_off: object, node: str) -> str:
    """The message for a Node in back-off, which the NodeHealthCheck operator does not have (rule 14)."""
    return f"Skipped remediation of node: {node}, because of {back_off}"


def target_notes(
    check: HealthCheck, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[TargetNote]:
    """The Events about a Node that is unhealthy, or was until now."""
    yield from _skipped(before, after)
    yield from _backed_off(before, after)
    yield from _mislabelled(before, after)
    yield from _exhausted(check.reference.name, before, after)
    if is_classic(check):
        yield from _failed(before, after)


def overdue_notes(before: TargetSnapshot | None, after: TargetSnapshot) -> Iterator[TargetNote]:
    """The Events about owners that work on a Node for too long, which the operator does not have."""
    for work in after.newly_overdue(before):
        message = f"Node {after.name} is no longer left to its owner: {work}"
        yield _note(after, OVERDUE, message, work)


def _skipped(before: TargetSnapshot | None, after: TargetSnapshot) -> Iterator[TargetNote]:
    hold = after.own_hold(besides=_REPORTED_OTHERWISE)
    earlier = before.own_hold(besides=_REPORTED_OTHERWISE) if before is not None else None
    if hold is None or (earlier is not None and earlier.reason == hold.reason):
        return
    if hold.reason is HoldReason.OWNER_AT_WORK and after.owner_sign == OwnerSign.MACHINE_CONFIG:
        return  # the operator has one Event for all Nodes (NHC 2.1/10)
    message = _SKIPPED.get(hold.reason, _OTHERS).format(name=after.name, why=hold.message)
    yield replace(_note(after, SKIPPED, message, hold.reason), why=hold.message)


def _backed_off(before: TargetSnapshot | None, after: TargetSnapshot) -> Iterator[TargetNote]:
    back_off = after.new_back_off(before)
    if back_off is not None:
        seed = (HoldReason.BACK_OFF, str(after.earlier_attempts))
        yield _note(after, SKIPPED, skipped_because_of(back_off, after.name), *seed)


def _mislabelled(before: TargetSnapshot | None, after: TargetSnapshot) -> Iterator[TargetNote]:
    if not after.has_empty_exclusion or (before is not None and before.has_empty_exclusion):
        return
    message = (
        f"Node {after.name} has exclude-from-remediation label with empty value, label will be ignored. "
        "Set value to 'true' to exclude node from remediation"
    )
    yield _note(after, "InvalidNodeLabel", message)


def _exhausted(check: str, before: TargetSnapshot | None, after: TargetSnapshot) -> Iterator[TargetNote]:
    if not after.is_exhausted or (before is not None and before.is_exhausted):
        return
    message = (
        "Remediation timed out, and no template left to try. "
        f"didn't find a template to use for NHC {check} and node {after.name}"
    )
    yield _note(after, "NoTemplateLeft", message, *(request.uid for request in after.requests[-1:]))


def _failed(before: TargetSnapshot | None, after: TargetSnapshot) -> Iterator[TargetNote]:
    """An Event that the NodeHealthCheck operator lacks: a remediator gave up (rule 22)."""
    reported = {request.uid for request in before.requests if request.succeeded is False} if before else set()
    for request in after.requests:
        if request.succeeded is False and request.uid not in reported:
            kind, name = request.reference.kind, request.reference.name
            message = f"Remediation of node {after.name} failed: {kind} {name} reports Succeeded=False"
            yield _note(after, "RemediationFailed", message, request.uid)


def _note(target: TargetSnapshot, reason: str, message: str, *seed: str) -> TargetNote:
    return TargetNote(
        severity=Severity.WARNING,
        reason=reason,
        message=message,
        seed=(target.uid, str(target.verdict.fact), *seed),
    )


@dataclass(frozen=True)
class RequestNote:
    """One Event about a request; a request has one Event of each reason."""

    severity: Severity
    reason: str
    message: str
    uid: str


def request_notes(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[RequestNote]:
    """The Events; at the start (`before` is None) existing requests may not be reported yet."""
    since = now - _YOUNG
    if after.reported_until is not None:
        since = min(since, after.reported_until - REPORTED_WITHIN)
    for target in after.targets.values() if before is None else ():
        for request in target.requests:
            yield from _created(target.name, request, since)
    for change in after.request_changes:
        if change.made is not None:
            yield from _created(change.target, change.made, since)
        if change.deleted is not None:
            stayed_unhealthy = _stayed_unhealthy(change.target, before, after)
            yield _deleted(change.target, change.deleted, is_interrupted=stayed_unhealthy)


def _created(target: str, request: RequestSnapshot, since: datetime) -> Iterator[RequestNote]:
    if not request.is_of_operator and request.created >= since:
        message = f"Created remediation object for node {target}"
        yield RequestNote(Severity.NORMAL, "RemediationCreated", message, request.uid)


def _deleted(target: str, request: RequestSnapshot, *, is_interrupted: bool) -> RequestNote:
    subject = f"remediation CR of kind {request.reference.kind} with name {request.reference.name}"
    if is_interrupted:
        message = f"Node {target} is still unhealthy, but its {subject} was deleted"
        return RequestNote(Severity.WARNING, "RemediationInterrupted", message, request.uid)
    return RequestNote(Severity.NORMAL, "RemediationRemoved", f"Deleted {subject}", request.uid)


def _stayed_unhealthy(target: str, before: CheckSnapshot | None, after: CheckSnapshot) -> bool:
    """True if the same condition lasted all the time; with another one it may have recovered in between."""
    fact = after.fact(target)
    return before is not None and fact is not None and fact == before.fact(target)
