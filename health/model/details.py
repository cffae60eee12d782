"""Details: why an incident is in its phase, in parts. Each reader gets the parts in a suitable order.

No code takes a finished sentence apart: text that must stand first, last or nowhere is a part of its own.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self

from objects.durations import in_words
from objects.frozen import Frozen
from objects.short_text import ShortText
from objects.timestamps import stamp

HELD_BY_PERSON = "held by a person"


class HoldWords(Frozen):
    """One hold for its readers, made once where the hold is decided; every view prints one of the three.

    Status, Events, metrics, summaries, notifications and the command get it as it is, and none of them words
    a hold again.
    """

    short: ShortText
    """The reason in one or a few words, for labels, columns and counts; it tells this hold from others."""
    full: ShortText | None = None
    """One sentence with the numbers; None: a person gave no reason."""
    since: datetime | None = None
    """When this hold began, and not when it was seen last; None: unknown.

    `full` has the newest words: a second `paramedic stop` with another reason begins no other hold.
    An incident measures it by Temporal's clock, the status of a check by that of the API server."""
    is_question: bool = False
    """True if it waits for a person: the deadline in `full` then comes first, as a list has little room."""

    def __str__(self) -> str:
        if self.is_question and self.full:
            return f"{self.full} ({self.short})"
        return f"{self.short}: {self.full}" if self.full else self.short


class Details(Frozen):
    """The parts in the default order. Parts that are None or empty are left out."""

    subject: str | None = None
    """The object that `reason` describes, where `reason` does not name it."""
    reason: str | None = None
    """In the words of the detector."""
    requests: str | None = None
    shadow: str | None = None
    """That the check is in shadow, and the steps that would have been taken."""
    order: str | None = None
    """The order of a person, unless it is a hold."""
    holds: tuple[HoldWords, ...] = ()
    """The holds of the next step; the first one decides."""
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
        return _joined((*self._held, *self.more, self.shadow, self.order))

    @property
    def more_lines(self) -> tuple[tuple[str, str | None], ...]:
        """The parts beside subject and reason, with their labels in the Temporal UI."""
        return (
            ("Requests", self.requests),
            ("Why not yet", _joined((*self._held, *self.more))),
            ("Held since", stamp(self.held_since) if self.held_since else None),
            ("Shadow", self.shadow),
            ("Order", self.order),
            ("Failed so far", _joined(self.notes)),
        )

    @property
    def brief(self) -> str:
        """The text beside the subject: hold and differences first, and the common reason last."""
        first = (*self._held, self.shadow, self.order, *self.more)
        return _joined((*first, *self.notes, self.requests, self.reason))

    @property
    def held_since(self) -> datetime | None:
        """When the hold began that decides; None: nothing holds the incident, or the time is unknown."""
        return self.holds[0].since if self.holds else None

    def and_also(self, *more: str) -> Self:
        return self.model_copy(update={"more": (*self.more, *more)})

    def with_notes(self, notes: Iterable[object]) -> Self:
        return self.model_copy(update={"notes": tuple(map(str, notes))})

    @property
    def beside_subject(self) -> Self:
        return self.model_copy(update={"subject": None})

    @property
    def _now(self) -> str:
        reason = named_reason(self.subject, self.reason)
        return _joined((reason, self.requests, self.shadow, self.order, *self._held, *self.more))

    @property
    def _held(self) -> Iterable[str]:
        return map(str, self.holds)


NO_WORDS = Details()


def named_reason(subject: str | None, reason: str | None) -> str:
    """The reason prefixed by its subject; without a subject, the reason alone."""
    return f"{subject}: {reason or ''}" if subject else reason or ""


def beside(subject: str, text: str) -> str:
    """Remove the subject from a stored text, for a place that already shows the subject."""
    return text.replace(named_reason(subject, ""), "", 1)


def _joined(parts: Iterable[str | None]) -> str:
    return "; ".join(part for part in parts if part)
