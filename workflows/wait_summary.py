"""WaitSummary: the summary of a wait's timer in the Temporal UI, written and parsed.

It has the phase, what differs from other waits, and when the incident moves on. The reasons in full are in
the answers of the detector, and the current details have them all.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from health.model.moves import Wait
from health.runbook.decision import NextEvent
from objects.brief import LONGEST_LINE
from workflows.kit.summaries import in_summary

_AFTER_PHASE = ": "
"""A separator that no phase contains."""
_UNTIL = "; until "
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class WaitSummary:
    """The phase in which an incident waits, why, and until when."""

    phase: str
    """An unknown phase is kept as text."""
    words: str
    until: str = ""
    """When it moves on by itself; "": a change of the cluster or an order moves it on."""

    @classmethod
    def of(cls, wait: Wait, now: datetime) -> Self:
        """The summary of the timer of this wait; long names in it are cut."""
        until = _until(wait, now)
        room = LONGEST_LINE - len(f"{wait.phase}{_AFTER_PHASE}{_UNTIL if until else ''}{until}")
        return cls(wait.phase, wait.brief.within(room), until)

    @classmethod
    def parsed(cls, summary: str) -> Self:
        """The reverse of `str`; a cut name or text stays cut."""
        begin, separator, until = summary.rpartition(_UNTIL)
        phase, _, words = (begin if separator else summary).partition(_AFTER_PHASE)
        return cls(phase, words, until if separator else "")

    def __str__(self) -> str:
        words = f"{_AFTER_PHASE}{self.words}" if self.words else ""
        end = f"{_UNTIL}{self.until}" if self.until else ""
        return in_summary(f"{self.phase}{words}{end}")


def _until(wait: Wait, now: datetime) -> str:
    """The time of the next transition; another question to the detector is none that people wait for."""
    transition = wait.next_transition
    if transition.at is None or transition.what == NextEvent.ASKS_AGAIN:
        return ""
    is_soon = transition.at - now < _DAY
    return f"{transition.at:%H:%M:%SZ}" if is_soon else f"{transition.at:%Y-%m-%d}"
