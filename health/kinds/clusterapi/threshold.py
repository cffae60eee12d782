"""Amounts and ranges of a threshold as a MachineHealthCheck of Cluster API writes them (CAPI B.2.4, rule 44).

A share may exceed 100 %, a string of digits is a number, and an amount may be negative. "" means no range.
"""

import re
from typing import Annotated

from pydantic import PlainValidator

from health.check.threshold import LARGEST, IntOrPercent, number_of
from health.kinds.machines.threshold import UnhealthyRange

_AMOUNT = re.compile(r"[+-]?[0-9]+%?", re.ASCII)
_RANGE = re.compile(r"\[([0-9]+)-([0-9]+)\]", re.ASCII)
_LARGEST_OF_RANGE = 2**32 - 1


def parse_range(raw: object) -> UnhealthyRange:
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
    return UnhealthyRange(least=least, most=most)


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


def _optional_range(raw: object) -> UnhealthyRange | None:
    return None if raw in (None, "") else parse_range(raw)


Amount = Annotated[IntOrPercent, PlainValidator(parse_amount)]
Range = Annotated[UnhealthyRange | None, PlainValidator(_optional_range)]


def _number(digits: str, largest: int) -> int:
    number = number_of(digits.lstrip("+-"))
    return _fitting(-number if digits.startswith("-") else number, largest)


def _fitting(number: int, largest: int) -> int:
    if abs(number) > largest:
        raise ValueError("must fit into 32 bits")
    return number
