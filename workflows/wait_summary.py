"""WaitSummary: the summary of a wait's timer in the Temporal UI, written and parsed.

A timer in a history has no other text than its summary, so the two functions stand side by side.
"""

from dataclasses import dataclass
from typing import Self

from health.model.moves import Wait
from workflows.kit.summaries import in_summary

_AFTER_PHASE = ": "
"""A separator that no phase contains."""


@dataclass(frozen=True)
class WaitSummary:
    """The phase in which an incident waits, and why."""

    phase: str
    """An unknown phase is kept as text."""
    words: str

    @classmethod
    def of(cls, wait: Wait) -> Self:
        """The summary of the timer of this wait."""
        return cls(wait.phase, wait.details.hold_first)

    @classmethod
    def parsed(cls, summary: str) -> Self:
        """The reverse of `str`; if the summary was cut, the end of the words is missing."""
        phase, _, words = summary.partition(_AFTER_PHASE)
        return cls(phase, words)

    def __str__(self) -> str:
        return in_summary(f"{self.phase}{_AFTER_PHASE}{self.words}")
