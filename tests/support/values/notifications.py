"""A notification with defaults for everything that a test is not about."""

from datetime import timedelta
from typing import Any

from health.model.notification import Notification, NotificationEvent
from tests.support.values.builders import INCIDENT, NOW


def notification(**fields: Any) -> Notification:
    question = Notification(
        id="n1",
        event=NotificationEvent.APPROVAL_REQUIRED,
        asks_a_person=True,
        incident=INCIDENT,
        at=NOW,
        failed_since=NOW - timedelta(minutes=5),
        title="Node/node-1 waits for the approval of RebootTemplate/reboot",
        reason="Ready is Unknown",
        waits_for="the question for an approval expires",
        waits_until=NOW + timedelta(minutes=30),
        commands=("paramedic approve workers/node-1",),
    )
    return question.model_copy(update=fields)
