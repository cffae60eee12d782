"""Events of a NodeHealthCheck: what became so between two sights, once per transition (decision 15).

Texts are the reference's (semantics 1.5). Each note has a seed that is the same whenever the same transition
is told again, for instance after a restart; so the API server refuses the second one. While the check holds
all its targets (threshold, pause request, upgrade, stop, disabled), it gets one Event and its targets none
(decision 6).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from health.announcement import Announcement, Severity
from health.check_sight import CheckSight, TargetSight
from health.health_check import InvalidCheckError
from health.nodehealthcheck.disabled import disabled
from health.nodehealthcheck.status import stored_condition
from health.nodehealthcheck.storm_conditions import stored_storm
from health.nodehealthcheck.storm_events import storm_notes
from health.nodehealthcheck.target_events import target_notes
from health.observation import HoldReason
from health.request_sight import RequestSight

_PREFIX = "[remediation] "
_YOUNG = timedelta(minutes=10)
"""After a restart the creation of a request is told only if it is so recent that it may be untold."""


def announcements(
    before: CheckSight | None, after: CheckSight, stored: Mapping[str, Any], now: datetime
) -> list[Announcement]:
    """What to tell; `before` is None at the start, `stored` is the status before this one."""
    switched = _switched(after, stored)
    if isinstance(after.check, InvalidCheckError):
        # Nothing is seen of its targets and requests, which is not to say that they are gone.
        return [*switched]
    if before is not None and isinstance(before.check, InvalidCheckError):
        before = None
    return [
        *switched,
        *_stopped(before, after),
        *_upgrading(before, after),
        *_paused(before, after),
        *_blocked(before, after),
        *_storm(before, after, stored, now),
        *_detected(before, after),
        *_of_targets(before, after),
        *_created(before, after, now),
        *_removed(before, after),
    ]


def _switched(after: CheckSight, stored: Mapping[str, Any]) -> Iterator[Announcement]:
    why = disabled(after)
    before = stored_condition(stored, "Disabled")
    if before.get("status") == str(why.is_disabled) and (
        not why.is_disabled or before.get("reason") == why.reason
    ):
        return
    since = before.get("lastTransitionTime", "")
    if why.is_disabled:
        yield _note(after, Severity.WARNING, "Disabled", why.announcement, why.announcement, since)
        return
    yield _note(after, Severity.NORMAL, "Enabled", why.message, since)


def _stopped(before: CheckSight | None, after: CheckSight) -> Iterator[Announcement]:
    stop = after.around.stop
    if stop is not None and not (before and before.around.stop):
        message = f"Postponing potential remediations: {stop.words}"
        yield _note(after, Severity.WARNING, "RemediationSkipped", message, stop.words, stop.version)


def _upgrading(before: CheckSight | None, after: CheckSight) -> Iterator[Announcement]:
    hold = after.around.upgrade
    known = before.around.upgrade if before else None
    if hold is None or (known is not None and known.reason is hold.reason):
        return
    if hold.reason is HoldReason.UPGRADING:
        message = "Postponing potential remediations because of ongoing cluster upgrade"
        yield _note(after, Severity.NORMAL, "RemediationSkipped", message, hold.message)
        return
    message = f"Postponing potential remediations: {hold.message}"
    yield _note(after, Severity.WARNING, "RemediationSkipped", message, hold.message)


def _paused(before: CheckSight | None, after: CheckSight) -> Iterator[Announcement]:
    if _is_paused(after) and not (before and _is_paused(before)):
        message = "Postponing potential remediations because of pause requests"
        yield _note(after, Severity.NORMAL, "RemediationSkipped", message, "paused", _generation(after))


def _is_paused(sight: CheckSight) -> bool:
    hold = getattr(sight.check, "hold", None)
    return hold is not None and hold.reason is HoldReason.PAUSED


def _generation(sight: CheckSight) -> str:
    return str(getattr(sight.check, "generation", ""))


def _blocked(before: CheckSight | None, after: CheckSight) -> Iterator[Announcement]:
    allowance = after.allowance
    if allowance is None or not after.is_blocked or (before and before.is_blocked):
        return
    message = (
        "Skipped remediation because the number of healthy nodes selected by the selector is "
        f"{allowance.healthy} and should equal or exceed {allowance.required}"
    )
    facts = [target.verdict.fact for target in after.expired if target.verdict.fact is not None]
    latest = max(facts, key=lambda fact: (fact.since, str(fact)))
    yield _note(after, Severity.WARNING, "RemediationSkipped", message, "threshold", str(latest))


def _storm(
    before: CheckSight | None, after: CheckSight, stored: Mapping[str, Any], now: datetime
) -> Iterator[Announcement]:
    for one in storm_notes(before.storm if before else stored_storm(stored, now), after.storm):
        yield _note(after, one.severity, one.reason, one.message, one.seed)
    if after.storm is not None and after.is_held_by_storm and not (before and before.is_held_by_storm):
        message = "Storm recovery active: skipping creation of new remediations"
        yield _note(
            after, Severity.WARNING, "RemediationSkipped", message, "storm", f"{after.storm.cooldown_turned}"
        )


def _holds_all(sight: CheckSight) -> bool:
    is_held_around = sight.around.stop is not None or sight.around.upgrade is not None
    is_held = sight.is_blocked or sight.is_held_by_storm or _is_paused(sight) or is_held_around
    return is_held or disabled(sight).is_disabled


def _detected(before: CheckSight | None, after: CheckSight) -> Iterator[Announcement]:
    if _holds_all(after):
        return
    known = {} if before is None or _holds_all(before) else {t.name: t for t in before.expired}
    for target in after.expired:
        fact = target.verdict.fact
        if fact is None or (target.name in known and known[target.name].verdict.fact == fact):
            continue
        if any(request.created < fact.since for request in target.requests):
            continue  # it failed again under a request that was made for an earlier failure
        message = (
            f'Node matches unhealthy condition. Node "{target.name}", '
            f'condition type "{fact.condition}", condition status "{fact.status}"'
        )
        yield _note(after, Severity.NORMAL, "DetectedUnhealthy", message, target.uid, str(fact))


def _of_targets(before: CheckSight | None, after: CheckSight) -> Iterator[Announcement]:
    if _holds_all(after) or isinstance(after.check, InvalidCheckError):
        return
    known = {} if before is None or _holds_all(before) else before.targets
    for target in after.expired:
        for one in target_notes(after.check, known.get(target.name), target):
            yield _note(after, one.severity, one.reason, one.message, *one.seed)


def _created(before: CheckSight | None, after: CheckSight, now: datetime) -> Iterator[Announcement]:
    known = _requests(before)
    for uid, (target, request) in _requests(after).items():
        if uid in known or (before is None and now - request.created > _YOUNG):
            continue
        message = f"Created remediation object for node {target.name}"
        yield _note(after, Severity.NORMAL, "RemediationCreated", message, uid)


def _removed(before: CheckSight | None, after: CheckSight) -> Iterator[Announcement]:
    left = _requests(after)
    for uid, (_, request) in _requests(before).items():
        was_deleted = request.is_being_deleted
        is_deleted = uid not in left or left[uid][1].is_being_deleted
        if is_deleted and not was_deleted:
            reference = request.reference
            message = f"Deleted remediation CR of kind {reference.kind} with name {reference.name}"
            yield _note(after, Severity.NORMAL, "RemediationRemoved", message, uid)


def _requests(sight: CheckSight | None) -> dict[str, tuple[TargetSight, RequestSight]]:
    targets = sight.targets.values() if sight else ()
    return {request.reference.uid: (target, request) for target in targets for request in target.requests}


def _note(sight: CheckSight, severity: Severity, reason: str, message: str, *seed: str) -> Announcement:
    return Announcement(
        seed="\n".join((sight.uid, reason, *seed)),
        severity=severity,
        reason=reason,
        message=f"{_PREFIX}{message}",
    )
