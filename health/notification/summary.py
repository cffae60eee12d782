"""Summary: several notifications in one message, because a receiver would get too many. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from health.model.notification import Notification, message_id


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
    def id(self) -> str:
        """The identity of the message, which follows from its notifications."""
        return message_id(*sorted(notification.id for notification in self.notifications))

    @property
    def asks_a_person(self) -> bool:
        return any(notification.asks_a_person for notification in self.notifications)

    @property
    def since(self) -> datetime:
        return min(notification.at for notification in self.notifications)

    @property
    def groups(self) -> Sequence[Group]:
        """Those that ask a person first, then the largest."""
        groups = list(self._groups())
        return sorted(
            groups, key=lambda group: (not group.notifications[0].asks_a_person, -len(group.notifications))
        )

    def _groups(self) -> Iterator[Group]:
        by_group = sorted(self.notifications, key=_group)
        for (event, cluster, check), found in groupby(by_group, key=_group):
            yield Group(event, cluster, check, sorted(found, key=lambda notification: notification.at))


def _group(notification: Notification) -> tuple[str, str, str]:
    return str(notification.event), notification.incident.cluster, str(notification.incident.check)
