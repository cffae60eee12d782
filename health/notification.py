"""Notifications as receivers get them: how many, and in which form (docs/notifications.md). Pure.

A summary has several notifications, because a receiver would get too many messages. Texts of people and of
API servers may contain anything, and services read markup in plain text. So `<` and `>` become brackets, and
a zero-width space stands behind `@` and before the address of a link: no text mentions a channel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Self

from health.model.notification import Notification
from objects.short_text import cut_to_length
from objects.timestamps import stamp

_MINUTE = timedelta(minutes=1)
_NEARLY_ONE = 1 - 1e-9
"""Sums of fractions stay a little under the whole."""
LONGEST = 600
"""Characters of one text; the whole stays below 4,000, which most services take."""
MOST_NAMES, MOST_GROUPS = 5, 10
LATE = timedelta(minutes=1)
"""A message that was sent later than this after its event says so, because it may be out of date."""
_PLAIN = str.maketrans({"<": "(", ">": ")", "@": "@\u200b", "`": "'"})


@dataclass(frozen=True)
class RequestAllowance:
    """How many requests a receiver may get at one moment of any monotonic clock, as a token bucket."""

    left: float
    at: timedelta

    @classmethod
    def full(cls, most_per_minute: int, now: timedelta) -> Self:
        return cls(most_per_minute, now)

    def refilled(self, most_per_minute: int, now: timedelta) -> Self:
        """The same at `now`; a whole minute refills it, and it never has more than a minute's worth."""
        gained = most_per_minute * max(0.0, (now - self.at) / _MINUTE)
        return type(self)(min(float(most_per_minute), self.left + gained), now)

    def spent(self) -> Self:
        return type(self)(max(0.0, self.left - 1), self.at)

    def wait(self, most_per_minute: int) -> timedelta:
        return max(0.0, _NEARLY_ONE - self.left) * _MINUTE / most_per_minute

    def in_next_request(self, waiting: int) -> int:
        """How many waiting notifications the next request has; the last request that is left has all."""
        is_last = self.left < 1 + _NEARLY_ONE
        return waiting if is_last else min(1, waiting)


@dataclass(frozen=True)
class Group:
    """The notifications of one event, one cluster and one check."""

    event: str
    cluster: str
    check: str
    notifications: Sequence[Notification]


@dataclass(frozen=True)
class Summary:
    """Several notifications to one receiver, the oldest first."""

    notifications: Sequence[Notification]

    @property
    def asks_a_person(self) -> bool:
        return any(notification.asks_a_person for notification in self.notifications)

    @property
    def groups(self) -> Sequence[Group]:
        """Those that ask a person first, then the largest."""
        by_group = sorted(self.notifications, key=_group_of)
        groups = [
            Group(event, cluster, check, sorted(found, key=lambda notification: notification.at))
            for (event, cluster, check), found in groupby(by_group, key=_group_of)
        ]
        return sorted(
            groups, key=lambda group: (not group.notifications[0].asks_a_person, -len(group.notifications))
        )


def _group_of(notification: Notification) -> tuple[str, str, str]:
    return str(notification.event), notification.incident.cluster, str(notification.incident.check)


def title_of(message: Notification | Summary) -> str:
    prefix = "A person has to decide: " if message.asks_a_person else ""
    if isinstance(message, Summary):
        return f"{prefix}{len(message.notifications)} more notifications"
    return f"{prefix}{plain(message.title)}"


def body_of(message: Notification | Summary, sent: datetime) -> str:
    """The lines below the title, as sent at that time; a message that had to wait may be out of date."""
    if isinstance(message, Summary):
        groups = message.groups
        lines = [_group(group) for group in groups[:MOST_GROUPS]]
        if left := sum(len(group.notifications) for group in groups[MOST_GROUPS:]):
            lines.append(f"• {left} others")
        return "\n".join((*lines, "`paramedic list` shows all open incidents."))
    lines, incident = [], message.incident
    if sent - message.at > LATE:
        late = f"Late: this happened at {stamp(message.at)}, and may be out of date."
        lines.append(f"{late} See `paramedic show`.")
    since = f", unhealthy since {stamp(message.failed_since)}" if message.failed_since else ""
    lines.append(f"Check {plain(str(incident.check))}, cluster {plain(incident.cluster)}{since}")
    if message.reason:
        lines.append(plain(message.reason))
    if message.waits_for or message.waits_until:
        at = f" at {stamp(message.waits_until)}" if message.waits_until else ""
        lines.append(f"Next{at}: {plain(message.waits_for)}")
    lines += map(plain, message.commands)
    return "\n".join((*lines, f"Workflow {plain(incident.workflow_id)}"))


def plain(text: str) -> str:
    """The text on one line, cut, and without markup."""
    return cut_to_length(" ".join(text.split()), LONGEST).translate(_PLAIN).replace("](", "]\u200b(")


def _group(group: Group) -> str:
    names = [str(notification.incident.target) for notification in group.notifications]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    shown = plain(f"{', '.join(names[:MOST_NAMES])}{more}")
    of = plain(f"{group.check}, cluster {group.cluster}")
    return f"• {len(names)} {plain(group.event)} by {of}: {shown}"
