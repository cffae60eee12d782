"""Restriction: how Machine checks of both APIs report that they may not remediate, once per transition.

The condition RemediationAllowed (rule 55) and the Event RemediationRestricted say so. While the check is
held as a whole it has one Event and its targets have none (rules 6 and 15). For an unknown policy the
ConfigMap has the Event.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.pause import is_paused
from health.cluster.cluster_context import CheckProblem
from health.gate.check_holds import BRIEF_REASONS
from health.model.invalid_check import InvalidCheckError
from health.model.observation import Hold, HoldReason
from health.model.stored_status import stored_condition, string
from objects.event import Event, InvolvedObject, Severity

REMEDIATION_ALLOWED = "RemediationAllowed"
TOO_MANY_UNHEALTHY, INVALID_SPEC = "TooManyUnhealthy", "InvalidSpec"
"""Two reasons of that condition."""
RESTRICTED = "RemediationRestricted"
REMEDIATE = "Remediate"
"""The action in Events about a remediation."""
_TAKEN = frozenset({HoldReason.TAKEN, HoldReason.TAKEN_BY_REQUEST})


@dataclass(frozen=True)
class MachineNote:
    """An Event about one target, always of type Normal."""

    reason: str
    message: str
    action: str = REMEDIATE
    seed: str = ""
    """Distinguishes repeated Events during one failure."""


def transitions(
    before: CheckSnapshot | None,
    after: CheckSnapshot,
    stored: Mapping[str, Any],
    told: Callable[[CheckSnapshot | None], Iterable[Event]],
) -> list[Event]:
    """The Events of a check: those that `told` gives for a readable check, and none for a paused one.

    `told` gets the last reported snapshot: `before`, or None if nothing was reported for it.
    """
    if is_paused(after):
        return []
    if isinstance(after.check, InvalidCheckError):
        return [*_invalid(after, after.check, stored)]
    is_untold = before is None or isinstance(before.check, InvalidCheckError) or is_paused(before)
    return [*told(None if is_untold else before)]


def _invalid(after: CheckSnapshot, problem: InvalidCheckError, stored: Mapping[str, Any]) -> Iterator[Event]:
    """The Event that the check cannot be read, unless its stored status already says so."""
    known = stored_condition(stored, REMEDIATION_ALLOWED)
    if (known.get("reason"), known.get("message")) == (INVALID_SPEC, str(problem)):
        return
    seed = (str(problem), string(known, "lastTransitionTime"))
    message = f"Remediation is not allowed, the check cannot be read: {problem}"
    yield of_check(after, INVALID_SPEC, message, *seed)


def restriction(snapshot: CheckSnapshot) -> CheckProblem | None:
    """The hold of the check besides its threshold, as reason and message of RemediationAllowed."""
    hold = snapshot.holds.first
    if hold is None or hold.reason is HoldReason.THRESHOLD:
        return None
    return snapshot.holds.shown(hold)


def is_restricted_by_threshold(snapshot: CheckSnapshot) -> bool:
    """True if the threshold holds the check, and no earlier rule does."""
    hold = snapshot.holds.first
    return hold is not None and hold.reason is HoldReason.THRESHOLD


def restricted(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any], now: datetime
) -> Iterator[Event]:
    """The Events for new holds, each with the reason that conditions show.

    At the start only what the status does not say yet; it does not say the version of a hold.
    """
    known = _shown_reasons(before) if before else _stored_restriction(stored)
    again = now.isoformat() if before else ""
    for one, _ in after.holds.events():
        is_unversioned = before is not None or not one.version
        if after.holds.shown(one.hold).reason in known and is_unversioned:
            continue
        words = one.hold.message
        message = f"Remediation restricted: {words}"
        yield of_check(after, RESTRICTED, message, words, one.version, again=again)


def was_restricted(stored: Mapping[str, Any]) -> bool:
    """True if the status says that targets got no Events: there was a hold, or no status at all."""
    known = stored_condition(stored, REMEDIATION_ALLOWED)
    return known.get("status") != "True" and string(known, "reason") not in BRIEF_REASONS


def of_check(snapshot: CheckSnapshot, reason: str, message: str, *seed: str, again: str = "") -> Event:
    return Event(
        seed="\n".join((snapshot.uid, reason, *seed)),
        severity=Severity.WARNING,
        reason=reason,
        message=message,
        again=again,
        action=REMEDIATE,
    )


def of_targets(
    before: CheckSnapshot | None,
    after: CheckSnapshot,
    now: datetime,
    notes: Callable[[TargetSnapshot | None, TargetSnapshot], Iterator[MachineNote]],
    subject: Callable[[TargetSnapshot], InvolvedObject],
) -> Iterator[Event]:
    """The Events about targets, unless the whole check is held; `before` was already reported."""
    if after.suppresses_target_events:
        return
    known = {} if before is None or before.suppresses_target_events else before.targets
    for name, target in sorted(after.targets.items()):
        is_new = before is not None and before.fact(name) is None
        for note in notes(known.get(name), target):
            yield _of_target(after.uid, target, note, subject(target), now.isoformat() if is_new else "")


def target_restrictions(before: TargetSnapshot | None, after: TargetSnapshot) -> Iterator[tuple[Hold, str]]:
    """New holds of this target alone, each with a seed for repetitions."""
    back_off = after.new_back_off(before)
    if back_off is not None:
        yield back_off, f"back-off {after.earlier_attempts}"
    taken, known = after.held_by(_TAKEN), before.held_by(_TAKEN) if before is not None else None
    if taken is not None and (known is None or known.reason is not taken.reason):
        yield taken, taken.reason


def _shown_reasons(snapshot: CheckSnapshot) -> Collection[str]:
    return {snapshot.holds.shown(one.hold).reason for one, _ in snapshot.holds.events()}


def _stored_restriction(stored: Mapping[str, Any]) -> Collection[str]:
    """The reason in the stored status for which the check may not remediate."""
    said = stored_condition(stored, REMEDIATION_ALLOWED)
    return [string(said, "reason")] if said.get("status") == "False" else []


def _of_target(
    uid: str, target: TargetSnapshot, note: MachineNote, subject: InvolvedObject, again: str
) -> Event:
    fact = target.verdict.fact
    return Event(
        seed="\n".join((uid, note.reason, target.uid, fact.identity if fact else "", note.seed)),
        severity=Severity.NORMAL,
        reason=note.reason,
        message=note.message,
        again=again,
        subject=subject,
        action=note.action,
    )
