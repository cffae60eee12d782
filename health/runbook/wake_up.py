"""Wake-up: whether an incident must be woken for what is seen now, by what it was answered last. Pure.

A deadline that passes is no reason: the incident has its own timer. A request that disappears is one, unless
the incident is removing it. A request that appears is one only where the incident cannot have made it. It
acts within a few seconds on an admission, or not at all (rule 4), so a request of its own that appears within
that time is its own doing. One that appears later was committed after its act was given up, made by a worker
that was frozen, or is shown by a watch that lags: the incident must be woken, as one that is left alone
removes it. If it has ended, another one does.
"""

from datetime import UTC, datetime, timedelta

from health.model.observation import ENDED, Hold, HoldReason, Observation, TargetState
from health.model.verdict import Fact
from health.runbook.escalation import Plan
from health.runbook.healthy_delay import Delay

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def needs_wake_up(last: Observation, now: Observation) -> bool:
    """Whether an incident that was given `last` must be woken for `now`; see `has_late_request`, too."""
    if (last.state in ENDED) != (now.state in ENDED) or (last.state in ENDED and _ended_otherwise(last, now)):
        return True
    if last.under_way and last.under_way != now.under_way:
        return True  # it is over, or whoever does it says something else
    if _is_shadow_otherwise(last, now) or _is_proven_otherwise(last, now):
        return True
    if last.counts_as_healthy != now.counts_as_healthy:
        return True
    if _is_another_fact(last.fact, now.fact) or last.generation != now.generation:
        return True
    if _lost_a_request(last, now) or _reports_else(last, now) or last.is_confirmed != now.is_confirmed:
        return True
    if last.lease_acquired_at and now.lease_acquired_at not in (None, last.lease_acquired_at):
        return True  # by somebody else's hand: it may be overdue now
    return _is_held_otherwise(last, now) or _has_another_chance(last, now)


def _is_proven_otherwise(last: Observation, now: Observation) -> bool:
    """Whether a recovery is to be proven otherwise, or there was another boot, or a gap that nobody saw."""
    asked, before = (one.proven_recovery_seconds for one in (now, last))
    is_other = (now.boot_id, now.last_transition) != (last.boot_id, last.last_transition)
    return asked != before or (asked > 0 and now.state is TargetState.HEALTHY and is_other)


def _is_shadow_otherwise(last: Observation, now: Observation) -> bool:
    """Whether it may write now, or no more; in shadow whatever others do is recorded."""
    if now.is_shadow is not None and bool(last.is_shadow) != now.is_shadow:
        return True
    if not now.is_shadow:
        return False
    seen, before = ({request.uid for request in one.requests} for one in (now, last))
    return (seen, now.under_way) != (before, last.under_way)


def _ended_otherwise(last: Observation, now: Observation) -> bool:
    """Whether it ended in another way; that another took the place of what is gone ends a wait, too."""
    return (last.state, last.is_replaced) != (now.state, now.is_replaced)


def _is_another_fact(last: Fact | None, now: Fact | None) -> bool:
    """A time that moved by itself is none: the incident asks again when its timer ends."""
    return now is not None if last is None else not last.same_as(now)


def _reports_else(last: Observation, now: Observation) -> bool:
    """Whether a remediator reports something else; the annotations of requests are the incident's own.

    But the stamp of a recovery does not turn into another one by the incident.
    """
    before = {one.uid: (one.succeeded, one.is_node_deletion_expected) for one in last.requests}
    since = {one.uid: one.healthy_since for one in last.requests}
    is_stamped_anew = any(
        one.healthy_since and since.get(one.uid) not in (None, one.healthy_since) for one in now.requests
    )
    return is_stamped_anew or any(
        before.get(one.uid, (None, False)) != (one.succeeded, one.is_node_deletion_expected)
        for one in now.requests
    )


def _is_held_otherwise(last: Observation, now: Observation) -> bool:
    """Whether what holds the incident is gone, or another reason: what people read must be true."""
    if last.hold is None or _is_remediator_at_work(now):
        return False
    if last.state is now.state is TargetState.UNKNOWN:
        return now.hold is not None and _is_another_reason(last.hold, now.hold)
    is_unproven = now.state is TargetState.HEALTHY and now.proven_recovery_seconds > 0
    if now.state is not TargetState.EXPIRED and not is_unproven:
        # Its clock restarted, at the end of an upgrade: it has a timer again.
        return last.state is TargetState.EXPIRED and now.state is TargetState.WAITING
    return now.hold is None or _is_another_reason(last.hold, now.hold)


def _is_another_reason(last: Hold, now: Hold) -> bool:
    """Whether another thing is wrong; of most reasons the words have numbers, which wake nobody."""
    if now.reason is HoldReason.DISABLED:  # one word for all that may be wrong with a check
        return (now.reason, now.message) != (last.reason, last.message)
    return now.reason != last.reason


def _has_another_chance(last: Observation, now: Observation) -> bool:
    """Whether an act that failed, though it was admitted, may do with the templates as they are now."""
    is_other = last.templates != now.templates
    return last.may_be_admitted and is_other and not _is_remediator_at_work(now)


def _is_remediator_at_work(now: Observation) -> bool:
    return not now.is_shadow and has_remediator_at_work(now, now.seen_at or _BEFORE_ALL)


def _lost_a_request(last: Observation, now: Observation) -> bool:
    left = {request.uid for request in now.requests}
    lost = [request for request in last.requests if request.uid not in left]
    if now.state in ENDED and not Delay.of(now).keeps_requests and not now.proven_recovery_seconds:
        # The incident deletes them itself now, and waits for those alone that a finalizer kept, or whose
        # remediator is to finish.
        return any(request.is_being_deleted or request.is_node_deletion_expected for request in lost)
    return bool(lost)


def has_remediator_at_work(seen: Observation, now: datetime) -> bool:
    """Whether its incident waits for a remediator, and for no admission.

    By the times and reports of its requests: to annotate one that is over may be impossible.
    """
    plan = Plan(seen.steps)
    return bool(seen.requests) and not any(one.succeeded or plan.is_over(one, now) for one in seen.requests)


def admitted_at(last: Observation, *, would_act: bool, before: datetime | None) -> datetime | None:
    """Since when an incident may be acting on an admission that it was given; None: it is not.

    `before` is the same before it was given `last`. An incident asks between its acts: one that learned that
    nothing is to be done, or would not act, has none under way. A hold may be answered while the request of
    its latest act is not seen yet.
    """
    if would_act and last.may_be_admitted:
        return last.seen_at
    return before if would_act and last.state not in ENDED else None


def has_late_request(
    last: Observation, now: Observation, admitted: datetime | None, acted_on_within: timedelta
) -> bool:
    """Whether a request appeared since `last` that no act on the admission seen at `admitted` made."""
    if not appeared(last, now):
        return False
    return admitted is None or now.seen_at is None or now.seen_at - admitted > acted_on_within


def appeared(last: Observation, now: Observation) -> frozenset[str]:
    """The uids of the requests that are seen now, and that `last` does not show."""
    return frozenset(one.uid for one in now.requests) - {one.uid for one in last.requests}
