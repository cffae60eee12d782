"""Limits as annotations of a check write them: numbers, and `label=number` in a row with commas."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from health.gate.limits import MOST, label_name

_Number = Annotated[int, Field(ge=1, le=MOST)]


def _pairs(text: object) -> object:
    """The numbers by label that a text says."""
    if not isinstance(text, str):
        return text
    pairs = [pair.strip().rpartition("=") for pair in text.split(",")]
    if not all(equals for _, equals, _ in pairs) or len({label for label, _, _ in pairs}) < len(pairs):
        raise ValueError("must be label=number, each label once, with commas between them")
    return {label: number for label, _, number in pairs}


ChosenCount = _Number | None
ChosenByLabel = Annotated[dict[Annotated[str, AfterValidator(label_name)], _Number], BeforeValidator(_pairs)]
