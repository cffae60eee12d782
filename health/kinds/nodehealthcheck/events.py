"""Events of a NodeHealthCheck for the changes between two snapshots, once per transition (rule 15).

Texts are the NodeHealthCheck operator's (NHC 1.5). Each Event has a seed that is the same for the same
transition, for example after a restart, so that the API server refuses a duplicate. A Node that fails after
it was seen healthy gets another Event even with the same seed, for example when its label comes back. The
API server forgets Events after an hour: a new leader emits no older Events of Nodes that the previous leader
reported, and none that the status already shows. While the check holds all its targets (threshold, pause
request, upgrade, stop, disabled), the check gets one Event and its targets none (rule 6).

The maker of a request emits its Events: for one without an incident that was the NodeHealthCheck operator
(rule 39), which also reports its own deletions after a Node recovered or is no longer a target. A request
does not record who deleted it. If one disappears while its Node stayed unhealthy, the message is true for
any cause: another actor, or our clean-up after an order.

An Event about one Node is emitted once per failure of the Node, whether the detector sees its hold or the
latest act found it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import REPORTED_WITHIN, CheckSnapshot, TargetSnapshot
from health.check.health_check import HealthCheck
from health.gate.check_holds import BRIEF_REASONS
from health.kinds.nodehealthcheck.disabled import CONFLICT, NO_PROBLEM, disabled
from health.kinds.nodehealthcheck.status import stored_hold, stored_storm
from health.model.node import involved_node
from health.model.observation import HoldReason
from health.model.owner_signs import OwnerSign
from health.model.request_snapshot import RequestSnapshot
from health.model.stored_status import stored_condition, string
from health.model.verdict import Health
from health.runbook.escalation import is_classic
from objects.event import Event, Severity

PREFIX = "[remediation] "
SKIPPED = "RemediationSkipped"
OVERDUE = "OwnerOverdue"
_WORDS_OF_THE_OPERATOR: Mapping[str, str] = {
    HoldReason.UPGRADING: "because of ongoing cluster upgrade",
    HoldReason.PAUSED: "because of pause requests",
}
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
_WORKING = frozenset({"Enabled", "Remediating"})
"""The phases of a status in which a check emits Events of its Nodes."""
_YOUNG = timedelta(minutes=10)
"""A new leader emits the Event of a request this recent, or one made while no detector led."""


def events(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any], now: datetime
) -> list[Event]:
    """The Events; `before` is None at the start, `stored` is the status before this one."""
    switched = _switched(after, stored)
    if after.check is None:
        # Its targets and requests are unknown, which does not mean that they are gone.
        return [*switched]
    was_held = _was_held(after.check, stored, now)
    of_targets = after if before is not None else after.unreported(now, was_held=was_held)
    if before is not None and before.check is None:
        before = None
    return [
        *switched,
        *_held(before, after, stored),
        *_reconfigured(before, of_targets),
        *_blocked(before, after, now),
        *_storm(before, after, stored, now),
        *_detected(before, of_targets, now),
        *_of_targets(before, of_targets),
        *_of_requests(before, after, now),
    ]


def _switched(after: CheckSnapshot, stored: Mapping[str, Any]) -> Iterator[Event]:
    why = disabled(after)
    before = stored_condition(stored, "Disabled")
    is_as_before = before.get("status") == str(why is not None)
    since = string(before, "lastTransitionTime")
    if why is None and not is_as_before:
        yield _note(after, Severity.NORMAL, "Enabled", NO_PROBLEM.message, seed=(since,))
    elif why is not None and not (is_as_before and before.get("reason") == why.reason):
        message = f"Disabling NHC. Reason: {why.reason}, Message: {why.message}"
        if why.reason == CONFLICT.reason:
            message = why.message
        yield _note(after, Severity.WARNING, "Disabled", message, seed=(message, since))


def _held(before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any]) -> Iterator[Event]:
    """The Events for new holds; the Event for a problem is `Disabled`."""
    reported = {HoldReason.PAUSED} if string(stored, "phase") == "Paused" else set[str]()
    if before is not None:
        reported = {found.hold.reason for found, _ in before.holds.events()}
    for found, severity in after.holds.events():
        hold = found.hold
        if hold.reason in reported or hold.reason is HoldReason.DISABLED:
            continue
        words = _WORDS_OF_THE_OPERATOR.get(hold.reason)
        message = f"Postponing potential remediations{f' {words}' if words else f': {hold.message}'}"
        type_ = Severity.NORMAL if words else severity
        yield _note(after, type_, SKIPPED, message, seed=(hold.message, found.version))


def _reconfigured(before: CheckSnapshot | None, after: CheckSnapshot) -> Iterator[Event]:
    """The Event of the operator when the first Node is held for a change of its machine config."""
    changing = [] if after.suppresses_target_events else _changing(after)
    if changing and not (before is not None and _changing(before)):
        words = _WORDS_OF_THE_OPERATOR[HoldReason.UPGRADING]
        message = f"Postponing potential remediations {words}"
        seed = ("machine config", changing[0].uid, str(changing[0].verdict.fact))
        yield _note(after, Severity.NORMAL, SKIPPED, message, seed=seed)


def _changing(snapshot: CheckSnapshot) -> list[TargetSnapshot]:
    return [target for target in snapshot.expired if target.owner_sign == OwnerSign.MACHINE_CONFIG]


def _was_held(check: HealthCheck, stored: Mapping[str, Any], now: datetime) -> bool:
    """True if the stored status shows a check that emitted no Events of its Nodes."""
    total, healthy = stored.get("observedNodes"), stored.get("healthyNodes")
    if string(stored, "phase") not in _WORKING or not isinstance(total, int) or not isinstance(healthy, int):
        return True
    held = stored_hold(stored)
    if held is not None and held.short not in BRIEF_REASONS:
        return True
    storm = stored_storm(stored, now)
    return (storm is not None and storm.is_active) or not check.allowance(
        total=total, healthy=healthy
    ).allowed


def _blocked(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[Event]:
    """The Event with the numbers; an edit of the threshold may hold the same failures a second time."""
    allowance = after.allowance
    if allowance is None or not after.is_blocked or (before and before.is_blocked):
        return
    message = (
        "Skipped remediation because the number of healthy nodes selected by the selector is "
        f"{allowance.healthy} and should equal or exceed {allowance.required}"
    )
    facts = [target.verdict.fact for target in after.expired if target.verdict.fact is not None]
    latest = max(facts, key=lambda fact: (fact.since, str(fact)))
    note = _note(after, Severity.WARNING, SKIPPED, message, seed=("threshold", str(latest)))
    yield replace(note, again=now.isoformat() if before else "")


def _storm(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any], now: datetime
) -> Iterator[Event]:
    """The Events of the storm; a spec without a cooldown drops the storm without an Event."""
    earlier, storm = before.storm if before else stored_storm(stored, now), after.storm
    if storm is None:
        return
    was_active, was_cooling = (earlier.is_active, earlier.is_cooling) if earlier else (False, False)
    is_another = earlier is None or earlier.turned != storm.turned
    if storm.is_active and (not was_active or is_another):
        message = "Storm recovery mode activated - delaying remediation until threshold is reached"
        yield _note(after, Severity.WARNING, "StormRecoveryStarted", message, seed=(f"{storm.turned}",))
    cools_anew = earlier is None or earlier.cooldown_turned != storm.cooldown_turned
    cooldown = f"{storm.cooldown_turned}"
    if storm.is_cooling and (not was_cooling or cools_anew):
        message = "Storm recovery mode will exit after cooldown delay"
        yield _note(after, Severity.WARNING, "StormRecoveryCooldownStarted", message, seed=(cooldown,))
    if was_active and not storm.is_active:
        message = "Storm recovery mode deactivated - normal remediation resumed"
        yield _note(after, Severity.NORMAL, "StormRecoveryEnded", message, seed=(f"{storm.turned}",))
    if after.is_held_by_storm and not (before and before.is_held_by_storm):
        message = "Storm recovery active: skipping creation of new remediations"
        yield _note(after, Severity.WARNING, SKIPPED, message, seed=("storm", cooldown))


def _detected(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[Event]:
    reported = (
        {} if before is None or before.suppresses_target_events else {t.name: t for t in before.expired}
    )
    present = () if after.suppresses_target_events else after.expired
    failures = {(target.name, target.verdict.fact): target for target in (*after.requested, *present)}
    for target in failures.values():
        fact = target.verdict.fact
        if fact is None or (target.name in reported and reported[target.name].verdict.fact == fact):
            continue
        if any(request.is_of_operator or request.created < fact.since for request in target.requests):
            continue  # the operator emitted it, or the request is for an earlier failure of the Node
        message = (
            f'Node matches unhealthy condition. Node "{target.name}", '
            f'condition type "{fact.condition}", condition status "{fact.status}"'
        )
        note = _note(after, Severity.NORMAL, "DetectedUnhealthy", message, seed=(target.uid, str(fact)))
        is_new = before is not None and before.fact(target.name) is None
        yield replace(note, again=now.isoformat() if is_new else "")


def _of_targets(before: CheckSnapshot | None, after: CheckSnapshot) -> Iterator[Event]:
    """The Events about Nodes; a skip is emitted on the Node too, although the operator has no such Event."""
    if after.suppresses_target_events or after.check is None:
        return
    reported = {} if before is None or before.suppresses_target_events else before.targets
    for name, target in sorted(after.targets.items()):
        for note in _target_notes(after.check, reported.get(name), target):
            seed = (target.uid, str(target.verdict.fact), *note.seed)
            event = _note(after, Severity.WARNING, note.reason, note.message, seed=seed)
            yield event
            if note.reason == SKIPPED:
                words = "" if note.why is None or note.why in event.message else f": {note.why}"
                yield replace(
                    event,
                    seed=f"{event.seed}\nnode",
                    message=f"{event.message}{words} ({after.check.reference})",
                    subject=involved_node(target.name, target.uid),
                )


@dataclass(frozen=True)
class _TargetNote:
    """A Warning about a Node; equal seeds in one failure are one Event."""

    reason: str
    message: str
    seed: tuple[str, ...] = ()
    why: str | None = None
    """The words of the hold, where the message of the operator does not have them."""


def _target_notes(
    check: HealthCheck, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[_TargetNote]:
    name = after.name
    # The operator has no Event about owners that work on a Node for too long.
    for work in after.newly_overdue(before):
        yield _TargetNote(OVERDUE, f"Node {name} is no longer left to its owner: {work}", (work,))
    if after.verdict.health is not Health.EXPIRED:
        return
    # For new machine configs the operator has one Event for all Nodes (NHC 2.1/10), see _reconfigured.
    hold = after.new_own_hold(before, besides=_REPORTED_OTHERWISE)
    is_at_work = hold is not None and hold.reason is HoldReason.OWNER_AT_WORK
    if hold is not None and not (is_at_work and after.owner_sign == OwnerSign.MACHINE_CONFIG):
        message = _SKIPPED.get(hold.reason, _OTHERS).format(name=name, why=hold.message)
        yield _TargetNote(SKIPPED, message, (hold.reason,), hold.message)
    back_off = after.new_back_off(before)
    if back_off is not None:
        row = (HoldReason.BACK_OFF, str(after.earlier_attempts))
        yield _TargetNote(SKIPPED, skipped_because_of(back_off, name), row)
    if after.has_empty_exclusion and not (before is not None and before.has_empty_exclusion):
        message = (
            f"Node {name} has exclude-from-remediation label with empty value, label will be ignored. "
            "Set value to 'true' to exclude node from remediation"
        )
        yield _TargetNote("InvalidNodeLabel", message)
    if after.is_exhausted and not (before is not None and before.is_exhausted):
        message = (
            "Remediation timed out, and no template left to try. "
            f"didn't find a template to use for NHC {check.reference.name} and node {name}"
        )
        seed = tuple(request.uid for request in after.requests[-1:])
        yield _TargetNote("NoTemplateLeft", message, seed)
    # The operator has no Event about a remediator that gave up (rule 22).
    reported = {request.uid for request in before.requests if request.succeeded is False} if before else set()
    for request in after.requests if is_classic(check) else ():
        if request.succeeded is False and request.uid not in reported:
            named = f"{request.reference.kind} {request.reference.name}"
            message = f"Remediation of node {name} failed: {named} reports Succeeded=False"
            yield _TargetNote("RemediationFailed", message, (request.uid,))


def skipped_because_of(back_off: object, node: str) -> str:
    """The message for a Node in back-off, which the NodeHealthCheck operator does not have (rule 14)."""
    return f"Skipped remediation of node: {node}, because of {back_off}"


def _of_requests(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[Event]:
    """The Events about requests; at the start (`before` is None) existing ones may not be reported yet."""
    since = now - _YOUNG
    if after.reported_until is not None:
        since = min(since, after.reported_until - REPORTED_WITHIN)
    for target in after.targets.values() if before is None else ():
        for request in target.requests:
            yield from _created(target.name, request, since, after)
    for change in after.request_changes:
        if change.made is not None:
            yield from _created(change.target, change.made, since, after)
        if change.deleted is None:
            continue
        reference, seed = change.deleted.reference, (change.deleted.uid,)
        subject = f"remediation CR of kind {reference.kind} with name {reference.name}"
        # If the same condition lasted, it stayed unhealthy; else it may have recovered in between.
        fact = after.fact(change.target)
        if before is not None and fact is not None and fact == before.fact(change.target):
            message = f"Node {change.target} is still unhealthy, but its {subject} was deleted"
            yield _note(after, Severity.WARNING, "RemediationInterrupted", message, seed=seed)
        else:
            yield _note(after, Severity.NORMAL, "RemediationRemoved", f"Deleted {subject}", seed=seed)


def _created(target: str, request: RequestSnapshot, since: datetime, after: CheckSnapshot) -> Iterator[Event]:
    if not request.is_of_operator and request.created >= since:
        message = f"Created remediation object for node {target}"
        yield _note(after, Severity.NORMAL, "RemediationCreated", message, seed=(request.uid,))


def _note(
    snapshot: CheckSnapshot, severity: Severity, reason: str, message: str, *, seed: Sequence[str]
) -> Event:
    return Event(
        seed="\n".join((snapshot.uid, reason, *seed)),
        severity=severity,
        reason=reason,
        message=f"{PREFIX}{message}",
    )
