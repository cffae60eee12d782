"""Finding: one thing that is wrong, and what to do about it."""

from collections.abc import Sequence
from enum import StrEnum

from health.frozen import Frozen


class Severity(StrEnum):
    """How bad it is."""

    PROBLEM = "problem"
    """Something is not done, or is done twice, until it is mended."""
    WARNING = "warning"
    """Somebody should look: it may be meant so, or be over."""


class Finding(Frozen):
    """One line; as JSON its fields."""

    severity: Severity
    reason: str
    """One word for scripts, as conditions have it."""
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.what}: {self.advice}"


def problem(reason: str, what: str, advice: str) -> Finding:
    """What keeps something from being done, or has it done twice."""
    return Finding(severity=Severity.PROBLEM, reason=reason, what=what, advice=advice)


def warning(reason: str, what: str, advice: str) -> Finding:
    """What may be meant so, or be over."""
    return Finding(severity=Severity.WARNING, reason=reason, what=what, advice=advice)


def summary(findings: Sequence[Finding]) -> str:
    """How many there are of which severity."""
    if not findings:
        return "nothing is wrong"
    counts = {one: sum(finding.severity is one for finding in findings) for one in Severity}
    return ", ".join(f"{count} {one}{'s' * (count > 1)}" for one, count in counts.items() if count)
