"""Details: why an incident is in its phase, in parts. Each reader gets the parts in a suitable order.

No code takes a finished sentence apart: text that must stand first, last or nowhere is a part of its own.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Self

from objects.durations import in_words
from objects.frozen import Frozen


class Details(Frozen):
    """The parts in the default order. Empty parts are left out."""

    subject: str = ""
    """The object that `reason` describes, where `reason` does not name it."""
    reason: str = ""
    """In the words of the detector."""
    requests: str = ""
    shadow: str = ""
    """That the check is in shadow, and the steps that would have been taken."""
    order: str = ""
    """The order of a person, unless it is a hold."""
    held: str | None = None
    """Why a person holds the incident, "" without a reason; None: no person does."""
    more: tuple[str, ...] = ()
    """Further facts that distinguish this incident from others."""
    ask_again_seconds: float | None = None
    """Seconds from this answer until the incident asks the detector again."""
    notes: tuple[str, ...] = ()
    """What has failed so far."""

    def __str__(self) -> str:
        """The current state, for the Temporal UI."""
        again = self.ask_again_seconds
        asks_again = "" if again is None else f" (asks again in {in_words(timedelta(seconds=again))})"
        return _joined((f"{self._now}{asks_again}", *self.notes))

    @property
    def lasting(self) -> str:
        """The same for a later reader, without the time of the next question."""
        return _joined((self._now, *self.notes))

    @property
    def differing(self) -> str:
        """The parts that distinguish this incident from others with the same reason; "": nothing."""
        return _joined((self._held, *self.more, self.shadow, self.order))

    @property
    def more_lines(self) -> tuple[tuple[str, str], ...]:
        """The parts beside subject and reason, with their labels in the Temporal UI."""
        return (
            ("Requests", self.requests),
            ("Why not yet", _joined((self._held, *self.more))),
            ("Shadow", self.shadow),
            ("Order", self.order),
            ("Failed so far", _joined(self.notes)),
        )

    @property
    def brief(self) -> str:
        """The text beside the subject: hold and differences first, and the common reason last."""
        held = "" if self.held is None else f"hold: {self.held}" if self.held else "hold"
        return _joined((held, self.shadow, self.order, *self.more, *self.notes, self.requests, self.reason))

    def and_also(self, *more: str) -> Self:
        return self.model_copy(update={"more": (*self.more, *more)})

    def with_notes(self, notes: Iterable[object]) -> Self:
        return self.model_copy(update={"notes": tuple(map(str, notes))})

    @property
    def beside_subject(self) -> Self:
        """The same, for a place that already shows the subject."""
        return self.model_copy(update={"subject": ""})

    @property
    def _now(self) -> str:
        reason = named_reason(self.subject, self.reason)
        return _joined((reason, self.requests, self.shadow, self.order, self._held, *self.more))

    @property
    def _held(self) -> str:
        if self.held is None:
            return ""
        return f"held by a person: {self.held}" if self.held else "held by a person"


NO_WORDS = Details()


def named_reason(subject: str, reason: str) -> str:
    """The reason prefixed by its subject; without a subject, the reason alone."""
    return f"{subject}: {reason}" if subject else reason


def beside(subject: str, text: str) -> str:
    """Remove the subject from a stored text, for a place that already shows the subject."""
    return text.replace(named_reason(subject, ""), "", 1)


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(part for part in parts if part)
