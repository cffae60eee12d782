"""InvalidCheckError: the first thing that is wrong with what people wrote: field and value."""

from pydantic_core import ErrorDetails

LONGEST_PROBLEM = 500
"""Characters: what is wrong goes into a condition and an Event, which take no megabytes."""


class InvalidCheckError(Exception):
    """A health check cannot be read; it names field and value, and affects that check alone.

    A `value` of None is not shown: the field is missing, or the problem says it all. `api_version` is what it
    was read in, where that says how its status is written.
    """

    def __init__(self, field: str, value: object, problem: str, api_version: str = "") -> None:
        self.field, self.value, self.problem, self.api_version = field, value, problem, api_version
        found = "" if value is None else f" (found {value!r})"
        super().__init__(f"{field}: {problem}{found}" if field else problem)


class SaysItsValueError(ValueError):
    """A problem that names the value in its own words, so that it is not shown once more."""


def problem_of(details: ErrorDetails) -> InvalidCheckError:
    """One of the things that are wrong with a check, with field and value."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in details["loc"])
    field = "".join(parts).lstrip(".")
    problem = details["msg"].removeprefix("Value error, ")
    if details["loc"][:2] == ("spec", "selector"):
        problem = f"Invalid selector: {problem}"
    return InvalidCheckError(cut(field), _shown(details), cut(problem))


def _shown(details: ErrorDetails) -> str | float | None:
    """The value, where that is one word or number, and was not said yet."""
    value = details["input"]
    if isinstance(details.get("ctx", {}).get("error"), SaysItsValueError):
        return None
    return cut(value) if isinstance(value, str) else value if isinstance(value, int | float) else None


def cut(text: str) -> str:
    """Return `text`, shortened to LONGEST_PROBLEM characters."""
    return text if len(text) <= LONGEST_PROBLEM else f"{text[:LONGEST_PROBLEM]}…"
