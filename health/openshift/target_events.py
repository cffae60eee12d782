"""Events of a MachineHealthCheck about one Machine (A.1), once for each time that it fails.

`DetectedUnhealthy` is for a Machine whose timer runs. One that failed at once, without a timer, is told by
what is done to it. `SkippedNoController` is for one whose time is over, and that nobody would replace. What
waits for back-off has `RemediationRestricted`, which the reference tells of a whole check only (decision 14).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from health.check_sight import TargetSight
from health.observation import HoldReason
from health.references import CheckReference

RESTRICTED = "RemediationRestricted"


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
    name = f"Machine {check.namespace}/{check.name}/{after.name}/{after.node_name}"
    if _has_timer(after) and not (before and _have_one_fact(before, after)):
        message = f"{name} has unhealthy node {after.node_name}"
        yield MachineNote("DetectedUnhealthy", message, "HealthCheck")
    if _is_skipped(after) and not (before and _is_skipped(before)):
        message = f"{name} has no controller owner, skipping remediation"
        yield MachineNote("SkippedNoController", message, "Remediate")
    if after.begins_back_off(before):
        message = f"{name} remediation restricted: {after.back_off}"
        yield MachineNote(RESTRICTED, message, "Remediate", f"back-off {after.earlier_attempts}")


def _have_one_fact(before: TargetSight, after: TargetSight) -> bool:
    return before.verdict.fact is not None and before.verdict.fact.same_as(after.verdict.fact)


def _has_timer(target: TargetSight) -> bool:
    """Whether a timer runs, or ran out."""
    fact, deadline = target.verdict.fact, target.verdict.deadline
    return fact is not None and deadline is not None and deadline > fact.since


def _is_skipped(target: TargetSight) -> bool:
    return target.hold is not None and target.hold.reason is HoldReason.NO_CONTROLLER
