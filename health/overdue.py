"""Overdue: when a remediation has taken so long that it gives the Lease of its target back.

Rule (semantics 2.5, decision 13): three times the duration that the Lease is taken for, and the timeouts of
the steps before, counted from when the Lease was acquired. Then the request is marked as timed out; it stays
until the target is healthy, and only now may another check go on.

A request that the incident made has three durations of its own under the Lease that it was made under: it
does not pay for one that somebody deleted (decision 9), nor for an old Lease of ours. One that it found, and
one whose Lease says another time by now, counts by the Lease alone.
"""

from datetime import datetime, timedelta

from health.escalation import Plan
from health.request_sight import RequestSight

PATIENCE = 3


def overdue_at(
    plan: Plan,
    latest: RequestSight,
    acquired: datetime | None,
    duration: timedelta,
    *,
    made_under: datetime | None = None,
) -> datetime:
    """When the remediation whose latest request this is becomes overdue, with a Lease of `duration`.

    `made_under` is when the Lease was acquired under which the incident made that request. Where nobody knows
    since when the Lease is held, it counts from the creation of the request.
    """
    if acquired is None:
        return latest.created + PATIENCE * duration
    step = plan.step_of(latest.reference)
    began = acquired + (plan.time_before(step) if step else timedelta())
    if acquired == made_under:
        began = max(began, latest.created)
    return began + PATIENCE * duration
