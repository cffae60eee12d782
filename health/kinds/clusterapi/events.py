"""Events of a MachineHealthCheck: what became so between two snapshots, once per transition (rule 15).

The reference tells `RemediationRestricted` on every pass, of the threshold alone, if a Machine failed. Here
it is told once, also when something else begins to hold the whole check. While anything does, the check has
that one Event and its Machines have none (rule 6). Of a paused check nothing is told.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from health.gate.admission import Question, common_hold
from health.gate.check_snapshot import CheckSnapshot, TargetSnapshot
from health.gate.health_check import InvalidCheckError
from health.gate.pause import is_paused
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.conditions import (
    INVALID_SPEC,
    REMEDIATION_ALLOWED,
    TOO_MANY_UNHEALTHY,
    held_message,
)
from health.kinds.clusterapi.machine import KIND as MACHINE
from health.kinds.clusterapi.target_events import REMEDIATE, RESTRICTED, MachineNote, machine_notes
from health.model.event import Event, Severity, Subject
from health.model.stored_status import stored_condition, word


def events(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any], now: datetime
) -> list[Event]:
    """What to tell; `before` is None at the start, `stored` is the status before this one."""
    if is_paused(after):
        return []
    if isinstance(after.check, InvalidCheckError):
        return [*_invalid(after, after.check, stored)]
    if before is not None and (isinstance(before.check, InvalidCheckError) or is_paused(before)):
        before = None  # nothing was told of it
    return [
        *_exceeded(before, after, stored),
        *_restricted(before, after, now),
        *_of_machines(before, after, now),
    ]


def _invalid(after: CheckSnapshot, problem: InvalidCheckError, stored: Mapping[str, Any]) -> Iterator[Event]:
    known = stored_condition(stored, REMEDIATION_ALLOWED)
    if (known.get("reason"), known.get("message")) == (INVALID_SPEC, str(problem)):
        return
    seed = (str(problem), word(known, "lastTransitionTime"))
    message = f"Remediation is not allowed, the check cannot be read: {problem}"
    yield _of_check(after, INVALID_SPEC, message, *seed)


def _exceeded(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any]
) -> Iterator[Event]:
    """The threshold, where at least one Machine failed."""
    if not after.is_blocked or after.allowance is None or not isinstance(after.check, MachineHealthCheck):
        return
    known = stored_condition(stored, REMEDIATION_ALLOWED)
    is_known = (known.get("status"), known.get("reason")) == ("False", TOO_MANY_UNHEALTHY)
    if is_known and (before is None or before.is_blocked):
        return
    message = held_message(after.allowance, after.check.spec.trigger)
    yield _of_check(after, RESTRICTED, message, "threshold", word(known, "lastTransitionTime"))


def _restricted(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[Event]:
    """The context of the check: a person's stop, its Cluster or template, an upgrade, unseen Nodes."""
    known = _restrictions(before) if before else {}
    again = now.isoformat() if before else ""
    for reason, (words, version) in _restrictions(after).items():
        if reason not in known:
            message = f"Remediation restricted: {words}"
            yield _of_check(after, RESTRICTED, message, words, version, again=again)


def _restrictions(snapshot: CheckSnapshot) -> dict[str, tuple[str, str]]:
    """What holds the check, by reason: in words, and which of several of the same words."""
    context = snapshot.context
    found = {} if context.stop is None else {"stop": (context.stop.words, context.stop.version)}
    if context.problem is not None:
        found[context.problem.reason] = (f"{context.problem.reason}: {context.problem.message}", "")
    for hold in (context.upgrade, context.unreachable):
        if hold is not None:
            found[hold.reason] = (hold.message, "")
    return found


def _of_machines(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[Event]:
    if not isinstance(after.check, MachineHealthCheck) or _holds_all(after):
        return
    known = {} if before is None or _holds_all(before) else before.targets
    for name, target in sorted(after.targets.items()):
        is_new = before is not None and before.fact(name) is None
        for note in machine_notes(after.check.reference, known.get(name), target):
            yield _of_machine(after.check, after.uid, target, note, now.isoformat() if is_new else "")


def _holds_all(snapshot: CheckSnapshot) -> bool:
    if snapshot.allowance is None or isinstance(snapshot.check, InvalidCheckError):
        return True
    return common_hold(Question(allowance=snapshot.allowance, context=snapshot.context)) is not None


def _of_check(snapshot: CheckSnapshot, reason: str, message: str, *seed: str, again: str = "") -> Event:
    return Event(
        seed="\n".join((snapshot.uid, reason, *seed)),
        severity=Severity.WARNING,
        reason=reason,
        message=message,
        again=again,
        action=REMEDIATE,
    )


def _of_machine(
    check: MachineHealthCheck, uid: str, target: TargetSnapshot, note: MachineNote, again: str
) -> Event:
    fact = target.verdict.fact
    return Event(
        seed="\n".join((uid, note.reason, target.uid, fact.identity if fact else "", note.seed)),
        severity=Severity.NORMAL,
        reason=note.reason,
        message=note.message,
        again=again,
        subject=Subject(check.api_version, MACHINE, check.metadata.namespace, target.name, target.uid),
        action=REMEDIATE,
    )
