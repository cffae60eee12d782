"""Finding: one thing that is wrong, and what to do about it; Examined: all that is."""

from enum import StrEnum

from objects.frozen import Frozen


class Severity(StrEnum):
    """How bad it is."""

    PROBLEM = "problem"
    """Something is not done, or is done twice, until it is mended."""
    WARNING = "warning"
    """Somebody should look: it may be meant so, or be over."""
    NOTE = "note"
    """Nothing is wrong for all that can be seen here; what cannot be seen, people know."""


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


def note(reason: str, what: str, advice: str) -> Finding:
    """What is good to know where nothing can be seen to be wrong."""
    return Finding(severity=Severity.NOTE, reason=reason, what=what, advice=advice)


class Examined(Frozen):
    """What was looked at, and what is wrong with it; as JSON its fields."""

    cluster: str | None
    """Its identity, None where it does not answer."""
    findings: tuple[Finding, ...]
    """Problems first, notes last."""

    @property
    def is_wrong(self) -> bool:
        """Whether anything is: a note alone is not."""
        return any(finding.severity is not Severity.NOTE for finding in self.findings)

    @property
    def summary(self) -> str:
        """Which cluster it is, and how many findings of which severity there are."""
        where = f"cluster {self.cluster}: " if self.cluster else ""
        told = [*([] if self.is_wrong else ["nothing is wrong"]), *self._counted]
        return f"{where}{', '.join(told)}"

    @property
    def _counted(self) -> list[str]:
        counts = {one: sum(finding.severity is one for finding in self.findings) for one in Severity}
        return [f"{count} {one}{'s' * (count > 1)}" for one, count in counts.items() if count]
