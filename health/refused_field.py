"""The first thing that is wrong with a check that a parser refused, as people are told: field and value."""

from pydantic_core import ErrorDetails

from health.health_check import InvalidCheckError

LONGEST_PROBLEM = 500
"""Characters: what is wrong goes into a condition and an Event, which take no megabytes."""


def problem_of(details: ErrorDetails) -> InvalidCheckError:
    """One of the things that are wrong with a check, with field and value."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in details["loc"])
    field = "".join(parts).lstrip(".")
    problem = details["msg"].removeprefix("Value error, ")
    if details["loc"][:2] == ("spec", "selector"):
        problem = f"Invalid selector: {problem}"
    value = details["input"]
    shown = _cut(value) if isinstance(value, str) else value if isinstance(value, int | float) else None
    return InvalidCheckError(_cut(field), shown, _cut(problem))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_PROBLEM else f"{text[:LONGEST_PROBLEM]}…"
