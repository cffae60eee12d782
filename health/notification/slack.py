"""Slack: a notification as `{"text": …}` in the markup of Slack, which other chats accept too. Pure.

Texts of people and of API servers may contain anything: `&`, `<` and `>` are escaped, as Slack requires, so
no text makes a link or mentions a channel. A zero-width space behind `@` does the same for other chats.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from health.model.notification import Notification
from health.notification.summary import Group, Summary
from objects.short_text import cut_to_length
from objects.timestamps import stamp

LONGEST = 600
"""Characters of one text; the whole stays below the 4,000 that Slack recommends."""
MOST_NAMES, MOST_GROUPS = 5, 10
LATE = timedelta(minutes=1)
"""A message that was sent later than this after its event says so, because it may be out of date."""
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b", "`": "'"})


def slack(message: Notification | Summary, sent: datetime) -> dict[str, Any]:
    """The message as sent at that time; links in it are not unfolded."""
    lines = _summary(message) if isinstance(message, Summary) else _notification(message, sent)
    return {"text": "\n".join(lines), "unfurl_links": False, "unfurl_media": False}


def escaped(text: str) -> str:
    """The text on one line, cut, and without effect on the markup around it."""
    return cut_to_length(" ".join(text.split()), LONGEST).translate(_ESCAPED)


def _notification(one: Notification, sent: datetime) -> Iterator[str]:
    yield f"*{_prefix(one.asks_a_person)}{escaped(one.title)}*"
    if sent - one.at > LATE:
        yield f"Late: this happened at {stamp(one.at)}, and may be out of date. See `paramedic show`."
    since = f", unhealthy since {stamp(one.failed_since)}" if one.failed_since else ""
    incident = one.incident
    yield f"Check {escaped(str(incident.check))}, cluster {escaped(incident.cluster)}{since}"
    if one.reason:
        yield escaped(one.reason)
    if one.waits_for or one.waits_until:
        at = f" at {stamp(one.waits_until)}" if one.waits_until else ""
        yield f"Next{at}: {escaped(one.waits_for)}"
    for command in one.commands:
        yield f"`{escaped(command)}`"
    yield f"Workflow `{escaped(incident.workflow_id)}`"


def _prefix(asks_a_person: bool) -> str:  # noqa: FBT001  its only argument
    return "A person has to decide: " if asks_a_person else ""


def _summary(summary: Summary) -> Iterator[str]:
    yield f"*{_prefix(summary.asks_a_person)}{len(summary.notifications)} more notifications*"
    groups = summary.groups
    yield from (_group(one) for one in groups[:MOST_GROUPS])
    if left := sum(len(one.notifications) for one in groups[MOST_GROUPS:]):
        yield f"• {left} others"
    yield "`paramedic list` shows all open incidents."


def _group(group: Group) -> str:
    names = [str(one.incident.target) for one in group.notifications]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    shown = escaped(f"{', '.join(names[:MOST_NAMES])}{more}")
    of = escaped(f"{group.check}, cluster {group.cluster}")
    return f"• {len(names)} {escaped(group.event)} by {of}: {shown}"
