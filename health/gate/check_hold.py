"""CheckHold: the hold of a whole check, for its status and Events.

The reasons are those of the admission table, in its order. A row added there appears in the status of every
kind of check.
"""

from dataclasses import replace
from datetime import datetime

from health.check.check_snapshot import ALL_SEEN, CheckSnapshot
from health.check.storm import storm_hold
from health.gate.admission import Question, common_hold
from health.model.invalid_check import InvalidCheckError
from health.model.observation import Hold, HoldReason

UNSEEN = frozenset(
    {
        HoldReason.STALE_CACHE,
        HoldReason.CLUSTER_CONTEXT_UNREAD,
        HoldReason.TEMPLATES_UNREAD,
        HoldReason.REQUESTS_UNREAD,
    }
)
"""The reasons under which targets keep their Events."""


def check_hold(snapshot: CheckSnapshot, now: datetime) -> Hold | None:
    """The hold of all targets of a check; None without one, or if the check cannot be read."""
    if snapshot.allowance is None or isinstance(snapshot.check, InvalidCheckError):
        return None
    unseen = snapshot.unseen
    question = Question(
        allowance=snapshot.allowance,
        blind=unseen.blind,
        unread_requests=unseen.unread_requests,
        storm=storm_hold(snapshot.storm, snapshot.check.storm_cooldown, now),
        context=snapshot.context,
        unread_context=unseen.unread_context,
        unread_templates=unseen.unread_templates,
    )
    return common_hold(question)


def holds_events(snapshot: CheckSnapshot, now: datetime) -> bool:
    """True if the check has one Event and its targets have none, because all are held (rule 6).

    Targets keep their Events while some part is briefly unknown, or the Events would be repeated after it.
    """
    if snapshot.allowance is None or isinstance(snapshot.check, InvalidCheckError):
        return True
    return check_hold(replace(snapshot, unseen=ALL_SEEN), now) is not None
