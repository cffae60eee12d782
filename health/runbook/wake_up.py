"""Wake-up: whether an incident that was told one observation must be woken for another. Pure.

A deadline that passes is no reason: the incident has its own timer. A request that appears is one only where
the incident cannot have made it. It acts within a few seconds on an admission, or not at all (rule 4), so
a request of its own that appears within that time is its own doing. One that appears later was committed
after its act was given up, made by a worker that was frozen, or is shown by a watch that lags: the incident
must be woken, as one that is left alone removes it. If it has ended, another one does.
"""

from datetime import UTC, datetime, timedelta

from health.model.observation import ENDED, Observation, TargetState
from health.model.verdict import Fact
from health.runbook.escalation import Plan
from health.runbook.healthy_delay import Delay

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def needs_wake_up(told: Observation, now: Observation) -> bool:
    """Whether an incident that was told one observation must be woken for another.

    A deadline that passes is no news (the incident has its own timer), nor is a request that appears (it
    made that itself; where it cannot have, see `has_late_request`). A request that disappears is, unless
    the incident is removing it.
    """
    if (told.state in ENDED) != (now.state in ENDED) or (told.state in ENDED and _ended_otherwise(told, now)):
        return True
    if (told.under_way and not now.under_way) or told.counts_as_healthy != now.counts_as_healthy:
        return True
    if _is_another_fact(told.fact, now.fact) or told.generation != now.generation:
        return True
    if _lost_a_request(told, now) or _says_else(told, now) or told.is_confirmed != now.is_confirmed:
        return True
    if told.lease_acquired_at and now.lease_acquired_at not in (None, told.lease_acquired_at):
        return True  # by somebody else's hand: it may be overdue now
    return _is_held_otherwise(told, now) or _has_another_chance(told, now)


def _ended_otherwise(told: Observation, now: Observation) -> bool:
    """Whether it ended in another way; that another took the place of what is gone ends a wait, too."""
    return (told.state, told.is_replaced) != (now.state, now.is_replaced)


def _is_another_fact(told: Fact | None, now: Fact | None) -> bool:
    """A time that moved by itself is none: the incident asks again when its timer ends."""
    return told is not now if told is None else not told.same_as(now)


def _says_else(told: Observation, now: Observation) -> bool:
    """Whether a remediator reports something else; the marks on requests are the incident's own.

    But the stamp of a recovery does not turn into another one by the incident.
    """
    before = {one.uid: (one.succeeded, one.is_node_deletion_expected) for one in told.requests}
    since = {one.uid: one.healthy_since for one in told.requests}
    is_stamped_anew = any(
        one.healthy_since and since.get(one.uid) not in (None, one.healthy_since) for one in now.requests
    )
    return is_stamped_anew or any(
        before.get(one.uid, (None, False)) != (one.succeeded, one.is_node_deletion_expected)
        for one in now.requests
    )


def _is_held_otherwise(told: Observation, now: Observation) -> bool:
    """Whether what holds the incident is gone, or another reason: what people read must be true."""
    if told.hold is None or _is_remediator_at_work(now):
        return False
    if now.state is not TargetState.EXPIRED:
        # Its clock restarted, at the end of an upgrade: it has a timer again.
        return told.state is TargetState.EXPIRED and now.state is TargetState.WAITING
    return now.hold is None or now.hold.reason != told.hold.reason


def _has_another_chance(told: Observation, now: Observation) -> bool:
    """Whether an act that failed, though it was admitted, may do with the templates as they are now."""
    return told.is_admitted and told.templates != now.templates and not _is_remediator_at_work(now)


def _is_remediator_at_work(now: Observation) -> bool:
    return has_remediator_at_work(now, now.seen_at or _BEFORE_ALL)


def _lost_a_request(told: Observation, now: Observation) -> bool:
    left = {request.uid for request in now.requests}
    lost = [request for request in told.requests if request.uid not in left]
    if now.state in ENDED and not Delay.of(now).keeps_requests:
        # The incident deletes them itself now, and waits for those alone that a finalizer kept, or whose
        # remediator is to finish.
        return any(request.is_being_deleted or request.is_node_deletion_expected for request in lost)
    return bool(lost)


def has_remediator_at_work(seen: Observation, now: datetime) -> bool:
    """Whether its incident waits for a remediator, and for no admission.

    By the times and reports of its requests: the mark of one that is over may be impossible to write.
    """
    plan = Plan(seen.steps)
    return bool(seen.requests) and not any(one.succeeded or plan.is_over(one, now) for one in seen.requests)


def admitted_at(told: Observation, *, would_act: bool, before: datetime | None) -> datetime | None:
    """Since when an incident may be acting on an admission that it was told; None: it is not.

    `before` is the same before it was told this. An incident asks between its acts: one that was told that
    nothing is to be done, or would not act, has none under way. A hold may be told while the request of its
    latest act is not seen yet.
    """
    if not would_act or told.state in ENDED:
        return None
    return told.seen_at if told.is_admitted else before


def has_late_request(
    told: Observation, now: Observation, admitted: datetime | None, acted_on_within: timedelta
) -> bool:
    """Whether a request appeared since `told` that no act on the admission seen at `admitted` made."""
    if not appeared(told, now):
        return False
    return admitted is None or now.seen_at is None or now.seen_at - admitted > acted_on_within


def appeared(told: Observation, now: Observation) -> frozenset[str]:
    """The uids of the requests that are seen now, and that the incident was not told of."""
    return frozenset(one.uid for one in now.requests) - {one.uid for one in told.requests}
