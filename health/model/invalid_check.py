"""InvalidCheckError: the first error in a check or policy, with field and value."""

from pydantic_core import ErrorDetails

LONGEST_PROBLEM = 500
"""Characters, because the problem goes into a condition and an Event."""


class InvalidCheckError(Exception):
    """A health check cannot be read; the error names field and value and affects only that check.

    A `value` of None is not shown: the field is missing, or the problem already says it. `api_version` is
    the version that was read, if it decides how the status is written.
    """

    def __init__(self, field: str, value: object, problem: str, api_version: str = "") -> None:
        self.field, self.value, self.problem, self.api_version = field, value, problem, api_version
        found = "" if value is None else f" (found {value!r})"
        super().__init__(f"{field}: {problem}{found}" if field else problem)


class SaysItsValueError(ValueError):
    """A problem that already contains the value, which is then not repeated."""


def problem_of(details: ErrorDetails) -> InvalidCheckError:
    """The first problem of a check, with field and value."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in details["loc"])
    field = "".join(parts).lstrip(".")
    problem = details["msg"].removeprefix("Value error, ")
    if details["loc"][:2] == ("spec", "selector"):
        problem = f"Invalid selector: {problem}"
    return InvalidCheckError(cut(field), _shown(details), cut(problem))


def _shown(details: ErrorDetails) -> str | float | None:
    """The value, if it is a word or number and the problem does not contain it."""
    value = details["input"]
    if isinstance(details.get("ctx", {}).get("error"), SaysItsValueError):
        return None
    return cut(value) if isinstance(value, str) else value if isinstance(value, int | float) else None


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_PROBLEM else f"{text[:LONGEST_PROBLEM]}…"
