"""CheckHold: what holds a check as a whole, as its status and its Events say it.

The reasons are those of the table by which incidents are admitted, in its order. A row that is added there
appears in the status of all kinds of check.
"""

from dataclasses import replace
from datetime import datetime

from health.gate.admission import Question, common_hold
from health.gate.check_snapshot import ALL_SEEN, CheckSnapshot
from health.gate.invalid_check import InvalidCheckError
from health.gate.storm import storm_hold
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
    """The hold of all targets of a check; None if nothing holds them, or the check cannot be read."""
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
    """Whether the check has one Event and its targets have none, as all are held (rule 6).

    Targets keep their Events while something is not seen for a moment: they would be repeated after it.
    """
    if snapshot.allowance is None or isinstance(snapshot.check, InvalidCheckError):
        return True
    return check_hold(replace(snapshot, unseen=ALL_SEEN), now) is not None
