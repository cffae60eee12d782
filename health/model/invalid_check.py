"""InvalidCheckError: the first error in a check, with field and value."""

from dataclasses import replace

from pydantic_core import ErrorDetails

from objects.field_problem import FieldProblem

_SELECTOR = ("spec", "selector")


class InvalidCheckError(Exception):
    """A health check cannot be read; the error names field and value and affects only that check.

    `api_version` is the version that was read, if it decides how the status is written. `is_paused`: the
    check is paused, so its problem is not reported.
    """

    def __init__(
        self, problem: FieldProblem, api_version: str | None = None, *, is_paused: bool = False
    ) -> None:
        self.problem, self.api_version, self.is_paused = problem, api_version, is_paused
        super().__init__(str(problem))


def check_problem(details: ErrorDetails) -> FieldProblem:
    """One problem of a check; a selector is refused in the words of the reference controllers."""
    problem = FieldProblem.of_details(details)
    if details["loc"][:2] != _SELECTOR:
        return problem
    return replace(problem, words=f"Invalid selector: {problem.words}")
