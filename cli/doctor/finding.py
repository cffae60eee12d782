"""Finding: one problem with advice; Examined: the findings about one cluster."""

from collections import Counter
from enum import StrEnum

from objects.frozen import Frozen

_ARTICLES = ("The", "A", "An")


class FindingSeverity(StrEnum):
    """How urgent a finding is, the most urgent first."""

    PROBLEM = "problem"
    """An operation is not done, or is done twice, until a user corrects this."""
    WARNING = "warning"
    """A user should look at this; it may be intended, or over."""
    NOTE = "note"
    """No problem is visible here; a user may know more."""


class Finding(Frozen):
    """One finding; the fields are its JSON."""

    severity: FindingSeverity
    reason: str
    """One word for scripts, in the style of reasons of conditions."""
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.what}: {self.advice}"


def problem(reason: str, what: str, advice: str) -> Finding:
    """An operation is not done, or is done twice."""
    return Finding(severity=FindingSeverity.PROBLEM, reason=reason, what=what, advice=advice)


def warning(reason: str, what: str, advice: str) -> Finding:
    """A state that may be intended, or over."""
    return Finding(severity=FindingSeverity.WARNING, reason=reason, what=what, advice=advice)


def note(reason: str, what: str, advice: str) -> Finding:
    """Useful to know; no problem is visible."""
    return Finding(severity=FindingSeverity.NOTE, reason=reason, what=what, advice=advice)


def in_mid_sentence(message: str) -> str:
    """A sentence for the middle of another one: without its full stop, and with a small article."""
    article, space, rest = message.rstrip(".").partition(" ")
    return f"{article.lower() if article in _ARTICLES else article}{space}{rest}"


class Examined(Frozen):
    """The findings about one cluster and its Temporal; the fields are its JSON."""

    cluster: str | None
    """Its identity; None if the cluster does not answer."""
    findings: tuple[Finding, ...]
    """Problems first, notes last."""

    @property
    def is_wrong(self) -> bool:
        """True if there is a problem or a warning."""
        return any(finding.severity is not FindingSeverity.NOTE for finding in self.findings)

    @property
    def summary(self) -> str:
        """The cluster, and the number of findings of each severity."""
        where = f"cluster {self.cluster}: " if self.cluster else ""
        parts = [*([] if self.is_wrong else ["nothing is wrong"]), *self._counted]
        return f"{where}{', '.join(parts)}"

    @property
    def _counted(self) -> list[str]:
        counts = Counter(finding.severity for finding in self.findings)
        numbers = ((severity, counts[severity]) for severity in FindingSeverity)
        return [f"{count} {severity}{'s' * (count > 1)}" for severity, count in numbers if count]
