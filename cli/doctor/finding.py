"""Finding: one problem with advice; FindingRules: the functions that find such problems.

`doctor` is a list of questions. Each declares its reason, severity and advice above the function, which
yields one sentence for each thing that it finds.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from objects.frozen import Frozen

_ARTICLES = ("The", "A", "An")
Subject = TypeVar("Subject")


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


Found = AsyncIterator[str | Finding]
"""The findings of one rule: a sentence each, or a Finding with another severity, reason or advice."""


@dataclass(frozen=True)
class FindingRule(Generic[Subject]):
    """One row of the list: what is looked for, how urgent it is, and what to do about it."""

    reason: str
    severity: FindingSeverity
    advice: str
    find: Callable[[Subject], Found]

    def finding(self, what: str, advice: str | None = None) -> Finding:
        return Finding(severity=self.severity, reason=self.reason, what=what, advice=advice or self.advice)

    async def findings(self, subject: Subject) -> list[Finding]:
        """All findings about `subject`; raises as the function does."""
        return [
            self.finding(found) if isinstance(found, str) else found async for found in self.find(subject)
        ]


class FindingRules(list[FindingRule[Subject]]):
    """The rules about one kind of subject, in the order of their findings."""

    def finds(
        self, reason: str, severity: FindingSeverity, advice: str
    ) -> Callable[[Callable[[Subject], Found]], FindingRule[Subject]]:
        """Make a function the next rule of the list."""

        def appended(find: Callable[[Subject], Found]) -> FindingRule[Subject]:
            self.append(FindingRule(reason, severity, advice, find))
            return self[-1]

        return appended

    async def findings(self, subject: Subject) -> list[Finding]:
        return [finding for rule in self for finding in await rule.findings(subject)]


def listed(names: Sequence[str], most: int = 3) -> Iterator[str]:
    """The first names, and the number of the others."""
    yield from names[:most]
    if len(names) > most:
        yield f"and {len(names) - most} more"


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
        counts = Counter(finding.severity for finding in self.findings)
        numbers = ((severity, counts[severity]) for severity in FindingSeverity)
        counted = [f"{count} {severity}{'s' * (count > 1)}" for severity, count in numbers if count]
        return f"{where}{', '.join([*([] if self.is_wrong else ['nothing is wrong']), *counted])}"
