"""Parts of thresholds of all kinds: amounts of targets, and a decision with its numbers.

Each kind defines how a share is rounded and what it is a share of. A string of digits is a number.
"""

import re
from typing import Annotated, Self

from pydantic import PlainValidator

from objects.frozen import Frozen

PATTERN = r"^((100|[0-9]{1,2})%|[0-9]+)$"
LARGEST = 2**31 - 1
"""The largest number that is not a string: Kubernetes stores those in 32 bits."""

_MOST_DIGITS = 18
"""Python refuses to parse more than 4300 digits, and the schema allows any number."""


class IntOrPercent(Frozen):
    """A number of targets, or a share of them in percent."""

    value: int
    is_percent: bool = False

    @classmethod
    def parse(cls, raw: object) -> Self:
        """The amount that a check writes as 3, "3" or "40%".

        Raises:
            ValueError: it is none of these, negative, above LARGEST, or above 100 percent.

        """
        if isinstance(raw, bool) or not isinstance(raw, int | str):
            raise ValueError("must be a whole number or a percentage such as 40%")  # noqa: TRY004  pydantic wants ValueError
        if isinstance(raw, int):
            if raw < 0:
                raise ValueError("must not be negative")
            if raw > LARGEST:
                raise ValueError("must fit into 32 bits")
            return cls(value=raw)
        if not re.fullmatch(PATTERN, raw):
            raise ValueError("must be a whole number or a percentage from 0% to 100%")
        return cls(value=number_of(raw.removesuffix("%")), is_percent=raw.endswith("%"))

    def of(self, total: int) -> int:
        """The number of targets out of `total`; a share is rounded up."""
        return -(-self.value * total // 100) if self.is_percent else self.value

    def floor_of(self, total: int) -> int:
        """The number of targets out of `total`; a share is rounded down."""
        return self.value * total // 100 if self.is_percent else self.value

    def __str__(self) -> str:
        return f"{self.value}%" if self.is_percent else str(self.value)


def number_of(digits: str) -> int:
    """The number; very many digits give a number larger than any count of targets."""
    significant = digits.lstrip("0") or "0"
    return int(significant) if len(significant) <= _MOST_DIGITS else 10**_MOST_DIGITS


Amount = Annotated[IntOrPercent, PlainValidator(IntOrPercent.parse)]


class Allowance(Frozen):
    """The decision of a threshold, with its numbers."""

    allowed: bool
    total: int
    healthy: int
    required: int
    """How many must be healthy; negative if more may be unhealthy than there are."""
    limit: str
    """The demand of the threshold, in words: "at most 2 allowed"."""

    @classmethod
    def of_required(cls, required: int, *, total: int, healthy: int) -> Self:
        most = total - required
        limit = f"at most {most} allowed" if most >= 0 else f"at least {required} healthy required"
        return cls(allowed=healthy >= required, total=total, healthy=healthy, required=required, limit=limit)

    @property
    def words(self) -> str:
        return f"{self.total - self.healthy} of {self.total} unhealthy, {self.limit}"
