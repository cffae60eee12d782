"""The threshold of a check of Machines (MHC A.2.4, CAPI B.2.4, rules 4, 5, 31 and 44).

- A number or a share: at most that many may be unhealthy. A share is rounded down and may exceed 100 %. A
  number may exceed the number of Machines. A negative amount never allows anything, even if all are healthy.
- A range, in one of the APIs: the number of unhealthy Machines must be in it, both ends included.

All Machines that do not count as healthy are unhealthy, including those being deleted, without a Node,
marked, or with a running timer.
"""

from typing import TypeAlias

from health.check.threshold import LARGEST, Allowance, IntOrPercent
from objects.frozen import Frozen

ALL = IntOrPercent(value=100, is_percent=True)


class UnhealthyRange(Frozen):
    """The least and the greatest number of unhealthy Machines that allow remediation."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"[{self.least}-{self.most}]"


Trigger: TypeAlias = IntOrPercent | UnhealthyRange


def allowance(trigger: Trigger, *, total: int, healthy: int) -> Allowance:
    """The decision while `healthy` of `total` Machines are healthy."""
    if isinstance(trigger, UnhealthyRange):
        return _of_range(trigger, total=total, healthy=healthy)
    most = trigger.floor_of(total) if trigger.value >= 0 else min(trigger.floor_of(total), -1)
    return Allowance.of_required(total - most, total=total, healthy=healthy)


def _of_range(trigger: UnhealthyRange, *, total: int, healthy: int) -> Allowance:
    unhealthy = total - healthy
    return Allowance(
        allowed=trigger.least <= unhealthy <= trigger.most,
        total=total,
        healthy=healthy,
        required=total - trigger.most,
        limit=f"from {trigger.least} to {trigger.most} allowed",
    )


def remediations_allowed(decided: Allowance) -> int:
    """How many more Machines may turn unhealthy before remediation stops, in 32 bits."""
    return max(0, min(decided.healthy - decided.required, LARGEST)) if decided.allowed else 0


def numbers(decided: Allowance, trigger: Trigger) -> str:
    """The numbers behind the decision, in the words of the reference controllers."""
    field = "unhealthyRange" if isinstance(trigger, UnhealthyRange) else "maxUnhealthy"
    return f"(total: {decided.total}, unhealthy: {decided.total - decided.healthy}, {field}: {trigger})"


def held_message(decided: Allowance, trigger: Trigger) -> str:
    """The message of a blocking threshold, in the words of the reference controllers."""
    is_range = isinstance(trigger, UnhealthyRange)
    compared = "does not fall within the range" if is_range else "exceeds maxUnhealthy"
    return (
        f"Remediation is not allowed, the number of not started or unhealthy machines {compared} "
        f"{numbers(decided, trigger)}"
    )
