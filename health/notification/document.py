"""Document: a notification as generic JSON, in a form with a version (docs/notifications.md). Pure.

New versions of Paramedic add fields. `version` changes only if a field is renamed, removed, or changes its
meaning.
"""

from datetime import datetime
from typing import Any

from health.model.notification import Notification
from health.notification.summary import Summary
from objects.timestamps import stamp

VERSION = 1
MOST_LISTED = 500
"""The most notifications that a summary lists, so that a request stays under a few hundred kilobytes."""


def document(message: Notification | Summary, sent: datetime) -> dict[str, Any]:
    """The message as sent at that time; a message that had to wait may be out of date."""
    fields = _summary(message) if isinstance(message, Summary) else _notification(message)
    return {**fields, "sent_at": stamp(sent)}


def _notification(one: Notification) -> dict[str, Any]:
    return {
        "version": VERSION,
        "kind": "Notification",
        **_reference(one),
        "target_uid": one.incident.target.uid,
        "at": stamp(one.at),
        "failed_since": stamp(one.failed_since) if one.failed_since else None,
        "title": one.title,
        "reason": one.reason,
        "waits_for": one.waits_for,
        "waits_until": stamp(one.waits_until) if one.waits_until else None,
        "commands": list(one.commands),
    }


def _reference(one: Notification) -> dict[str, Any]:
    return {
        "id": one.id,
        "event": str(one.event),
        "asks_a_person": one.asks_a_person,
        "cluster": one.incident.cluster,
        "check": str(one.incident.check),
        "target": str(one.incident.target),
        "workflow_id": one.incident.workflow_id,
    }


def _summary(summary: Summary) -> dict[str, Any]:
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
        "notifications": [_reference(one) for one in summary.notifications[:MOST_LISTED]],
    }
