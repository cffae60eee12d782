"""Notification: what an incident reports to people outside of the cluster, and who wants to know it. Pure.

The policy names receivers (`health.policy.policy`). The detector tells each incident which events they
want, and `health.runbook.notifications` says when an event happens. No value here has an address or a secret.
"""

from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Self

from health.model.moves import Outcome
from health.model.references import IncidentReference
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText

_ID_LENGTH = 32


class NotificationEvent(StrEnum):
    """An event of an incident that a receiver may want; the outcomes have the names of `Outcome`."""

    APPROVAL_REQUIRED = "ApprovalRequired"
    """A step waits for the approval of a person, or the time for the answer is over."""
    STEP_REJECTED = "StepRejected"
    """A person, or the default of the check, rejected a step."""
    HELD = "Held"
    """Something other than a person's order has held the incident for the time of the receiver."""
    EXHAUSTED = "Exhausted"
    """Every step was tried, and the target is still unhealthy."""
    STEP_TAKEN = "StepTaken"
    LEFT_ALONE = "LeftAlone"
    """After an abort: nothing is done until the target recovers or a person resumes."""
    RECOVERED = "Recovered"
    REMEDIATED = "Remediated"
    RELEASED = "Released"
    GONE = "Gone"
    WOULD_HAVE_REMEDIATED = "WouldHaveRemediated"

    @classmethod
    def of_end(cls, outcome: Outcome) -> Self:
        return cls(outcome.value)

    @property
    def asks_a_person(self) -> bool:
        """True if the incident does not go on by itself, so that a person has to decide."""
        return self in _ASKS_A_PERSON

    @property
    def is_end(self) -> bool:
        return self.value in _OUTCOMES


_ASKS_A_PERSON = frozenset(
    {
        NotificationEvent.APPROVAL_REQUIRED,
        NotificationEvent.STEP_REJECTED,
        NotificationEvent.HELD,
        NotificationEvent.EXHAUSTED,
    }
)
_OUTCOMES = frozenset(outcome.value for outcome in Outcome)
DEFAULT_EVENTS = (
    NotificationEvent.APPROVAL_REQUIRED,
    NotificationEvent.STEP_REJECTED,
    NotificationEvent.HELD,
    NotificationEvent.EXHAUSTED,
    NotificationEvent.LEFT_ALONE,
    NotificationEvent.REMEDIATED,
)


class WantedEvents(Frozen):
    """The events that one receiver of the policy wants."""

    receiver: str
    events: tuple[OpenEnum[NotificationEvent], ...]
    held_for_seconds: float
    """How long an incident is held before that receiver is notified."""


class Notification(Frozen):
    """One message about one incident, for any receiver."""

    id: str
    """The same for each attempt to deliver it, so a receiver can drop a duplicate."""
    event: OpenEnum[NotificationEvent]
    asks_a_person: bool
    incident: IncidentReference
    at: datetime
    """When the incident noticed the event, by Temporal's clock."""
    failed_since: datetime | None = None
    """Since when the target is unhealthy; None: unknown."""
    title: ShortText
    """One sentence with the target."""
    reason: ShortText = ""
    """Why, in the words of `paramedic show`."""
    waits_for: ShortText = ""
    """The event that moves the incident on; "": it has ended."""
    waits_until: datetime | None = None
    """When that happens by itself; None: a change of the cluster or a person moves it on."""
    commands: tuple[ShortText, ...] = ()
    """The command lines that a person may type, the most likely first."""


def notification_id(incident: IncidentReference, began: datetime, occasion: str) -> str:
    """The identity of the message about one occasion; `began` tells two incidents of one target apart."""
    return message_id(incident.workflow_id, incident.target.uid, began.isoformat(), occasion)


def message_id(*parts: str) -> str:
    """An identity that follows from these parts alone."""
    return sha256("\n".join(parts).encode()).hexdigest()[:_ID_LENGTH]
