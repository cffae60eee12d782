"""Events of a NodeHealthCheck about one unhealthy Node, and why it is skipped.

Texts are those of the NodeHealthCheck operator (NHC 1.5) where it has one. Each is emitted once per failure
of the Node (rule 15), whether the detector sees the hold or the latest act found it. A hold of the whole
check is reported for the check only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from health.check.check_snapshot import TargetSnapshot
from health.check.health_check import HealthCheck
from health.model.observation import HoldReason
from health.model.owner_signs import OwnerSign
from health.runbook.escalation import is_classic

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


@dataclass(frozen=True, kw_only=True)
class TargetNote:
    """A Warning about a Node; equal seeds are one Event."""

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
        reason=reason,
        message=message,
        seed=(target.uid, str(target.verdict.fact), *seed),
    )
