"""NotificationMemory: which receivers an incident has notified, and of what. Pure.

It stays empty while the policy has no receivers.
"""

from datetime import datetime
from typing import Self

from health.model.notification import NotificationEvent
from objects.frozen import Frozen, OpenEnum


class SentNotification(Frozen):
    """The latest notification of one event to one receiver."""

    receiver: str
    event: OpenEnum[NotificationEvent]
    occasion: str
    """Tells it from other notifications of the same event."""


class NotificationMemory(Frozen):
    """The part of an incident's memory about its notifications."""

    held_since: datetime | None = None
    """Since when something other than a person has held it; None: nothing does."""
    sent: tuple[SentNotification, ...] = ()

    def has_sent(self, receiver: str, event: NotificationEvent, occasion: str) -> bool:
        return SentNotification(receiver=receiver, event=event, occasion=occasion) in self.sent

    def has_asked(self, receiver: str) -> bool:
        """True if that receiver was notified that a person has to decide."""
        asked = (one.event for one in self.sent if one.receiver == receiver)
        return any(isinstance(event, NotificationEvent) and event.asks_a_person for event in asked)

    def having_sent(self, receiver: str, event: NotificationEvent, occasion: str) -> Self:
        """The same after a notification; it replaces the previous one of that event."""
        sent = SentNotification(receiver=receiver, event=event, occasion=occasion)
        others = (one for one in self.sent if (one.receiver, one.event) != (receiver, event))
        return self.model_copy(update={"sent": (*others, sent)})

    def held(self, *, is_held: bool, now: datetime) -> Self:
        """The same once it is held, or is not held, at `now`."""
        return self.model_copy(update={"held_since": (self.held_since or now) if is_held else None})
