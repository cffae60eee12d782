"""Messages: one or several notifications in the forms that receivers get (docs/notifications.md). Pure.

A summary has several notifications, because a receiver would get too many messages. The document is generic
JSON. New versions of Paramedic add fields; `version` changes only if a field is renamed, removed, or changes
its meaning.

Slack gets `{"text": …}` in its markup, which other chats accept too. Texts of people and of API servers may
contain anything: `&`, `<` and `>` are escaped, as Slack requires, so no text makes a link or mentions a
channel. A zero-width space behind `@` does the same for other chats.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from health.model.notification import Notification, message_id
from objects.short_text import cut_to_length
from objects.timestamps import stamp


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
        by_group = sorted(self.notifications, key=_group_of)
        for (event, cluster, check), found in groupby(by_group, key=_group_of):
            yield Group(event, cluster, check, sorted(found, key=lambda notification: notification.at))


def _group_of(notification: Notification) -> tuple[str, str, str]:
    return str(notification.event), notification.incident.cluster, str(notification.incident.check)


VERSION = 1
MOST_LISTED = 500
"""The most notifications that a summary lists, so that a request stays under a few hundred kilobytes."""


def document(message: Notification | Summary, sent: datetime) -> dict[str, Any]:
    """The message as sent at that time; a message that had to wait may be out of date."""
    fields = _summary_document(message) if isinstance(message, Summary) else _document_of(message)
    return {**fields, "sent_at": stamp(sent)}


def _document_of(notification: Notification) -> dict[str, Any]:
    return {
        "version": VERSION,
        "kind": "Notification",
        **_reference(notification),
        "target_uid": notification.incident.target.uid,
        "at": stamp(notification.at),
        "failed_since": stamp(notification.failed_since) if notification.failed_since else None,
        "title": notification.title,
        "reason": notification.reason,
        "waits_for": notification.waits_for,
        "waits_until": stamp(notification.waits_until) if notification.waits_until else None,
        "commands": list(notification.commands),
    }


def _reference(notification: Notification) -> dict[str, Any]:
    return {
        "id": notification.id,
        "event": str(notification.event),
        "asks_a_person": notification.asks_a_person,
        "cluster": notification.incident.cluster,
        "check": str(notification.incident.check),
        "target": str(notification.incident.target),
        "workflow_id": notification.incident.workflow_id,
    }


def _summary_document(summary: Summary) -> dict[str, Any]:
    return {
        "version": VERSION,
        "kind": "Summary",
        "id": summary.id,
        "asks_a_person": summary.asks_a_person,
        "since": stamp(summary.since),
        "count": len(summary.notifications),
        "groups": [
            {
                "event": group.event,
                "cluster": group.cluster,
                "check": group.check,
                "count": len(group.notifications),
            }
            for group in summary.groups
        ],
        "notifications": [_reference(notification) for notification in summary.notifications[:MOST_LISTED]],
    }


LONGEST = 600
"""Characters of one text; the whole stays below the 4,000 that Slack recommends."""
MOST_NAMES, MOST_GROUPS = 5, 10
LATE = timedelta(minutes=1)
"""A message that was sent later than this after its event says so, because it may be out of date."""
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b", "`": "'"})


def slack(message: Notification | Summary, sent: datetime) -> dict[str, Any]:
    """The message as sent at that time; links in it are not unfolded."""
    lines = _summary_lines(message) if isinstance(message, Summary) else _lines_of(message, sent)
    return {"text": "\n".join(lines), "unfurl_links": False, "unfurl_media": False}


def escaped(text: str) -> str:
    """The text on one line, cut, and without effect on the markup around it."""
    return cut_to_length(" ".join(text.split()), LONGEST).translate(_ESCAPED)


def _lines_of(notification: Notification, sent: datetime) -> Iterator[str]:
    yield f"*{_prefix(notification.asks_a_person)}{escaped(notification.title)}*"
    if sent - notification.at > LATE:
        late = f"Late: this happened at {stamp(notification.at)}, and may be out of date."
        yield f"{late} See `paramedic show`."
    since = f", unhealthy since {stamp(notification.failed_since)}" if notification.failed_since else ""
    incident = notification.incident
    yield f"Check {escaped(str(incident.check))}, cluster {escaped(incident.cluster)}{since}"
    if notification.reason:
        yield escaped(notification.reason)
    if notification.waits_for or notification.waits_until:
        at = f" at {stamp(notification.waits_until)}" if notification.waits_until else ""
        yield f"Next{at}: {escaped(notification.waits_for)}"
    for command in notification.commands:
        yield f"`{escaped(command)}`"
    yield f"Workflow `{escaped(incident.workflow_id)}`"


def _prefix(asks_a_person: bool) -> str:  # noqa: FBT001  its only argument
    return "A person has to decide: " if asks_a_person else ""


def _summary_lines(summary: Summary) -> Iterator[str]:
    yield f"*{_prefix(summary.asks_a_person)}{len(summary.notifications)} more notifications*"
    groups = summary.groups
    yield from (_group(group) for group in groups[:MOST_GROUPS])
    if left := sum(len(group.notifications) for group in groups[MOST_GROUPS:]):
        yield f"• {left} others"
    yield "`paramedic list` shows all open incidents."


def _group(group: Group) -> str:
    names = [str(notification.incident.target) for notification in group.notifications]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    shown = escaped(f"{', '.join(names[:MOST_NAMES])}{more}")
    of = escaped(f"{group.check}, cluster {group.cluster}")
    return f"• {len(names)} {escaped(group.event)} by {of}: {shown}"
