"""WaitSummary: what the timer of a wait is called in the Temporal UI, and how a history is read by that.

A timer carries nothing but its summary. So how that is written and how it is read stand side by side.
"""

from dataclasses import dataclass
from typing import Self

from health.model.moves import Wait
from workflows.kit.summaries import in_summary

_AFTER_PHASE = ": "
"""No phase contains it."""


@dataclass(frozen=True)
class WaitSummary:
    """The phase in which an incident waits, and why."""

    phase: str
    """One that this version does not know is text like any other."""
    words: str

    @classmethod
    def of(cls, wait: Wait) -> Self:
        """The summary of the timer of this wait."""
        return cls(wait.phase, wait.details.hold_first)

    @classmethod
    def parsed(cls, summary: str) -> Self:
        """What `str` made of it, where nothing had to be cut; else the end of the words is missing."""
        phase, _, words = summary.partition(_AFTER_PHASE)
        return cls(phase, words)

    def __str__(self) -> str:
        return in_summary(f"{self.phase}{_AFTER_PHASE}{self.words}")
