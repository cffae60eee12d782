"""Stopping: how long a step waits for the requests before it to be told to stop, where that fails. Pure.

The remediator of a request that is over, and was not told so, may be at work beside that of the next step.
So the next step waits for it, visibly, and for a minute at most: a mark that is refused for good (a webhook
that is dead, a right that is missing) must not keep a target from being remediated.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from health.chores import Chore
from health.memory import Memory
from health.moves import subject_of_mark
from health.remediation_request import TIMED_OUT
from health.request_sight import RequestSight

STOP_PATIENCE = timedelta(minutes=1)
"""Counted from the first failure to tell it."""


def stop_awaited_until(over: Iterable[RequestSight], memory: Memory) -> datetime | None:
    """Until when the next step waits for these requests, which are over; None: for none of them."""
    notes = {note.subject: note for note in memory.notes if note.chore is Chore.MARK}
    untold = (one for one in over if one.timed_out_at is None and not one.succeeded)
    stops = (subject_of_mark(one.uid, [TIMED_OUT]) for one in untold)
    return max((notes[stop].since + STOP_PATIENCE for stop in stops if stop in notes), default=None)
