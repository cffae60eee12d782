"""The threshold of a MachineHealthCheck of Cluster API (CAPI B.2.4, rules 4, 5, 31 and 44).

- A number or a share: at most that many may be unhealthy. A share is rounded down and may exceed 100 %; a
  string of digits is a number. A negative amount never allows anything, even if all are healthy.
- A range: the number of unhealthy Machines must be in it, both ends included. It overrides a number.
- Neither: always.

All Machines that do not count as healthy are unhealthy, including those being deleted, without a Node, or
with a running timer.
"""

import re
from typing import Annotated, Self, TypeAlias

from pydantic import PlainValidator

from health.check.threshold import LARGEST, Allowance, IntOrPercent, number_of
from objects.frozen import Frozen

ALL = IntOrPercent(value=100, is_percent=True)
_AMOUNT = re.compile(r"[+-]?[0-9]+%?", re.ASCII)
_RANGE = re.compile(r"\[([0-9]+)-([0-9]+)\]", re.ASCII)
_LARGEST_OF_RANGE = 2**32 - 1


class UnhealthyRange(Frozen):
    """The least and the greatest number of unhealthy Machines that allow remediation."""

    least: int
    most: int

    @classmethod
    def parse(cls, raw: object) -> Self:
        """The range that a check writes as "[2-5]".

        Raises:
            ValueError: it is no range, does not fit into 32 bits, or ends before it begins.

        """
        found = _RANGE.fullmatch(raw) if isinstance(raw, str) else None
        if found is None:
            raise ValueError("must be a range such as [2-5]")
        least, most = (_number(digits, _LARGEST_OF_RANGE) for digits in found.groups())
        if most < least:
            raise ValueError("must not end before it begins")
        return cls(least=least, most=most)

    def __str__(self) -> str:
        return f"[{self.least}-{self.most}]"


Trigger: TypeAlias = IntOrPercent | UnhealthyRange


def parse_amount(raw: object) -> IntOrPercent:
    """The amount that a check writes as 3, "3", -1, "40%" or "150%".

    Raises:
        ValueError: it is none of these, or does not fit into 32 bits.

    """
    if isinstance(raw, int) and not isinstance(raw, bool):
        return IntOrPercent(value=_fitting(raw, LARGEST))
    if not isinstance(raw, str) or not _AMOUNT.fullmatch(raw):
        raise ValueError("must be a whole number or a percentage such as 40%")
    digits = raw.removesuffix("%")
    return IntOrPercent(value=_number(digits, LARGEST), is_percent=raw.endswith("%"))


Amount = Annotated[IntOrPercent, PlainValidator(parse_amount)]


def _range(raw: object) -> UnhealthyRange | None:
    return None if raw in (None, "") else UnhealthyRange.parse(raw)


Range = Annotated[UnhealthyRange | None, PlainValidator(_range)]
"""An optional range; "" means no range."""


def _number(digits: str, largest: int) -> int:
    number = number_of(digits.lstrip("+-"))
    return _fitting(-number if digits.startswith("-") else number, largest)


def _fitting(number: int, largest: int) -> int:
    if abs(number) > largest:
        raise ValueError("must fit into 32 bits")
    return number


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
