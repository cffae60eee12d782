"""The Event of a NodeHealthCheck about a request that somebody deleted: when the next one is due.

Reason and words are those of a Node that waits without such a loss.
"""

from health.announcement import Announcement, Severity, Subject
from health.lost_request import LostRequest
from health.nodehealthcheck.check import API_VERSION, KIND
from health.nodehealthcheck.events import PREFIX
from health.nodehealthcheck.target_events import SKIPPED, skipped_because_of


def request_lost(lost: LostRequest) -> Announcement:
    """That its Node waits."""
    check, node = lost.incident.check, lost.incident.target.name
    message = f"{PREFIX}{skipped_because_of(lost.words, node)}"
    subject = Subject(API_VERSION, KIND, check.namespace, check.name, lost.check_uid)
    return Announcement(lost.seed, Severity.WARNING, SKIPPED, message, subject=subject)
