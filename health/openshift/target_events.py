"""Events of a MachineHealthCheck about one Machine (A.1), once for each time that it fails.

`DetectedUnhealthy` is for a Machine whose timer runs. One that failed at once, without a timer, is told by
what is done to it. `SkippedNoController` is for one whose time is over, and that nobody would replace. One
that waits for back-off, or that somebody else has, is told as `RemediationRestricted`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from health.check_sight import TargetSight
from health.observation import Hold, HoldReason
from health.openshift.event_words import REMEDIATE, RESTRICTED, path_of, restricted
from health.references import CheckReference

_TAKEN = frozenset({HoldReason.TAKEN, HoldReason.TAKEN_BY_REQUEST})


@dataclass(frozen=True)
class MachineNote:
    """What to tell of a Machine, always as Normal."""

    reason: str
    message: str
    action: str
    seed: str = ""
    """Tells apart what may become so several times during one failure."""


def machine_notes(
    check: CheckReference, before: TargetSight | None, after: TargetSight
) -> Iterator[MachineNote]:
    """What became so of a Machine that is unhealthy; `before` is None where nobody was told of it."""
    path = path_of(check, after.name, after.node_name)
    if _has_timer(after) and not _is_known(after) and not (before and _have_one_fact(before, after)):
        message = f"Machine {path} has unhealthy node {after.node_name}"
        yield MachineNote("DetectedUnhealthy", message, "HealthCheck")
    if _is_skipped(after) and not (before and _is_skipped(before)):
        message = f"Machine {path} has no controller owner, skipping remediation"
        yield MachineNote("SkippedNoController", message, REMEDIATE)
    for hold, seed in _restrictions(before, after):
        yield MachineNote(RESTRICTED, restricted(path, hold), REMEDIATE, seed)


def _restrictions(before: TargetSight | None, after: TargetSight) -> Iterator[tuple[Hold, str]]:
    """What begins to hold this Machine alone, and which of several times it is."""
    back_off = after.new_back_off(before)
    if back_off is not None:
        yield back_off, f"back-off {after.earlier_attempts}"
    taken, known = after.held_by(_TAKEN), before.held_by(_TAKEN) if before is not None else None
    if taken is not None and (known is None or known.reason is not taken.reason):
        yield taken, taken.reason


def _have_one_fact(before: TargetSight, after: TargetSight) -> bool:
    return before.verdict.fact is not None and before.verdict.fact.same_as(after.verdict.fact)


def _is_known(target: TargetSight) -> bool:
    """Whether the reference told of it already, and made a request."""
    return any(request.is_unsigned for request in target.requests)


def _has_timer(target: TargetSight) -> bool:
    """Whether a timer runs, or ran out."""
    fact, deadline = target.verdict.fact, target.verdict.deadline
    return fact is not None and deadline is not None and deadline > fact.since


def _is_skipped(target: TargetSight) -> bool:
    return target.hold is not None and target.hold.reason is HoldReason.NO_CONTROLLER
