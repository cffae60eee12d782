"""Details: why an incident is where it is, in parts; each reader is told them in the order that serves him.

Nothing takes a sentence apart again: what is to stand first, last or nowhere is a part of its own.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Self

from objects.durations import in_words
from objects.frozen import Frozen


class Details(Frozen):
    """The parts, in the order in which they are told; what is empty is not told."""

    subject: str = ""
    """What `reason` is said of, where it does not name that itself."""
    reason: str = ""
    """As the detector says it."""
    requests: str = ""
    shadow: str = ""
    """That nothing is written for it, and what would have been done."""
    order: str = ""
    """What a person ordered that is no hold."""
    held: str | None = None
    """Why a person holds it; None: nobody does."""
    more: tuple[str, ...] = ()
    """What else tells it from other incidents."""
    ask_again_seconds: float | None = None
    """How long after this was said the detector is asked again."""
    notes: tuple[str, ...] = ()
    """What it could not do so far."""

    def __str__(self) -> str:
        """Where that was said: for the Temporal UI."""
        return _joined(f"{self._now}{self._asks_again}", *self.notes)

    @property
    def lasting(self) -> str:
        """The same for a later reader, without what was true when it was said."""
        return _joined(self._now, *self.notes)

    @property
    def hold_first(self) -> str:
        """The summary of a timer, whose end may be cut; its length stands beside it."""
        return _joined(self._held, self._named_reason, self.requests, self.shadow, self.order, *self.more)

    @property
    def brief(self) -> str:
        """Beside its subject: what tells it from others first, a hold; last what all are, unhealthy."""
        held = "" if self.held is None else f"hold: {self.held}"
        return _joined(held, self.shadow, self.order, *self.more, *self.notes, self.requests, self.reason)

    def and_also(self, *more: str) -> Self:
        """The same with more to tell."""
        return self.model_copy(update={"more": (*self.more, *more)})

    def with_notes(self, notes: Iterable[object]) -> Self:
        """The same with what could not be done."""
        return self.model_copy(update={"notes": tuple(map(str, notes))})

    @property
    def beside_subject(self) -> Self:
        """The same for where the name of the subject stands already."""
        return self.model_copy(update={"subject": ""})

    @property
    def _named_reason(self) -> str:
        return named_reason(self.subject, self.reason)

    @property
    def _now(self) -> str:
        return _joined(self._named_reason, self.requests, self.shadow, self.order, self._held, *self.more)

    @property
    def _held(self) -> str:
        return "" if self.held is None else f"held by a person: {self.held}"

    @property
    def _asks_again(self) -> str:
        if self.ask_again_seconds is None:
            return ""
        return f" (asks again in {in_words(timedelta(seconds=self.ask_again_seconds))})"


def named_reason(subject: str, reason: str) -> str:
    """The reason with what it is said of; a reason without a subject names that itself."""
    return f"{subject}: {reason}" if subject else reason


def beside(subject: str, told: str) -> str:
    """`told`, of which nothing but the text was kept, for where the name of the subject stands already."""
    return told.replace(named_reason(subject, ""), "", 1)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
