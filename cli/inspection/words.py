"""The decision about one target in words, for the pages of `explain`, `check` and `simulate`. Pure."""

from collections.abc import Iterable
from datetime import datetime

from cli.incidents.show import order_words
from cli.shared.ages import ago
from health.model.details import HoldWords
from health.model.observation import HoldReason
from workflows.inspection_contracts import Decided, TargetAnswer

QUESTIONS = (HoldReason.APPROVAL_REQUIRED, HoldReason.STEP_REJECTED)
"""Holds with times, which differ from target to target."""


def title(decision: TargetAnswer) -> str:
    """The decision with its reason, by which `check` counts."""
    hold = decision.hold
    match decision.decided:
        case Decided.WAITS if hold:
            return f"{Decided.WAITS}, then held: {hold.words.short}"
        case Decided.HELD | Decided.UNKNOWN if hold:
            return f"{decision.decided}: {hold.words.short}"
        case Decided.REMEDIATING | Decided.EXHAUSTED if decision.ordered is not None:
            return f"{decision.decided}, and {Decided.HELD_BY_PERSON}"
    return decision.decided


def message(decision: TargetAnswer, now: datetime) -> str:
    """The order of a person, or else the hold or condition that decides."""
    return order_words(decision.ordered, now) if decision.ordered else decision.message


def dated(hold: HoldWords, now: datetime) -> str:
    """The hold, and since when it holds, if that is known."""
    return f"{hold}; since {ago(hold.since, now)}" if hold.since else str(hold)


def listed(names: Iterable[str], most: int = 10) -> str:
    """The first names, and the number of the others; the JSON of a command has all."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return f"{', '.join(known[:most])}{more}"
