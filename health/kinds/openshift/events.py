"""Events of a MachineHealthCheck: what became so between two snapshots, once per transition (rule 15).

Texts are the machine-api-operator's where it has one; it tells `RemediationRestricted` on every
reconciliation, and only of the threshold. Here it is told once, also when something else begins to hold the
whole check. While anything does, the check has that one Event and its Machines have none (rule 6). Of a
paused check nothing is told. What becomes of a deletion or a mark is told by who does it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from health.gate.admission import Question, common_hold
from health.gate.check_snapshot import CheckSnapshot, TargetSnapshot
from health.gate.health_check import HealthCheck, InvalidCheckError
from health.gate.pause import is_paused
from health.kinds.openshift.check import MachineHealthCheck
from health.kinds.openshift.conditions import INVALID_SPEC, REMEDIATION_ALLOWED, TOO_MANY_UNHEALTHY, numbers
from health.kinds.openshift.machine import API_VERSION as MACHINE_API
from health.kinds.openshift.machine import KIND as MACHINE
from health.kinds.openshift.target_events import REMEDIATE, RESTRICTED, MachineNote, machine_notes
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
        *_exceeded(after, stored),
        *_restricted(before, after, now),
        *_of_machines(after.check, before, after, now),
    ]


def _invalid(after: CheckSnapshot, problem: InvalidCheckError, stored: Mapping[str, Any]) -> Iterator[Event]:
    known = stored_condition(stored, REMEDIATION_ALLOWED)
    if (known.get("reason"), known.get("message")) == (INVALID_SPEC, str(problem)):
        return
    seed = (str(problem), word(known, "lastTransitionTime"))
    message = f"Remediation is not allowed, the check cannot be read: {problem}"
    yield _of_check(after, INVALID_SPEC, message, *seed)


def _exceeded(after: CheckSnapshot, stored: Mapping[str, Any]) -> Iterator[Event]:
    known = stored_condition(stored, REMEDIATION_ALLOWED)
    if after.allowance is None or after.allowance.allowed or not isinstance(after.check, MachineHealthCheck):
        return
    if (known.get("status"), known.get("reason")) == ("False", TOO_MANY_UNHEALTHY):
        return
    words = numbers(after.allowance, after.check.spec.max_unhealthy)
    message = f"Remediation restricted due to exceeded number of unhealthy machines {words}"
    yield _of_check(after, RESTRICTED, message, "threshold", word(known, "lastTransitionTime"))


def _restricted(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[Event]:
    """The context of the check: a person's stop, its template, an upgrade."""
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
    if context.upgrade is not None:
        found[context.upgrade.reason] = (context.upgrade.message, "")
    return found


def _of_machines(
    check: HealthCheck, before: CheckSnapshot | None, after: CheckSnapshot, now: datetime
) -> Iterator[Event]:
    if _holds_all(after):
        return
    known = {} if before is None or _holds_all(before) else before.targets
    for name, target in sorted(after.targets.items()):
        is_new = before is not None and before.fact(name) is None
        for note in machine_notes(check.reference, known.get(name), target):
            yield _of_machine(check, after.uid, target, note, now.isoformat() if is_new else "")


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


def _of_machine(check: HealthCheck, uid: str, target: TargetSnapshot, note: MachineNote, again: str) -> Event:
    fact = target.verdict.fact
    return Event(
        seed="\n".join((uid, note.reason, target.uid, fact.identity if fact else "", note.seed)),
        severity=Severity.NORMAL,
        reason=note.reason,
        message=note.message,
        again=again,
        subject=Subject(MACHINE_API, MACHINE, check.reference.namespace, target.name, target.uid),
        action=note.action,
    )
