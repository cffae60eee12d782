"""WakeUp: whether an incident must be woken for a new state, given its last answer. Pure.

A deadline that passes is no reason, because the incident has its own timer. A request that disappears is
one, unless the incident is deleting it. A request that appears is one only if the incident cannot have made
it: an admission is used within a few seconds or not at all (rule 4), so a request that appears within that
time is its own. A later one was committed after the act was given up, made by a frozen worker, or shown by a
watch that lags. The incident is then woken, because after an abort it deletes the request. If the
incident has ended, a new one is started.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from operator import attrgetter

from health.model.observation import ENDED, Hold, HoldReason, Observation, TargetState
from health.model.request_snapshot import RequestSnapshot
from health.model.wake_rule import WakeRule, wake_rules
from health.runbook.escalation import Plan
from health.runbook.incident import HealthyDelay

_NO_REPORT = (None, False)
_CHANGED_BY_EDITS = frozenset(
    {
        HoldReason.DISABLED,
        HoldReason.HOLD_ANNOTATION,
        HoldReason.INVALID_CHECK,
        HoldReason.MAINTENANCE_WINDOW,
        HoldReason.STOPPED,
    }
)
"""The reasons whose messages change with an edit, and otherwise at most once in hours."""
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)

Rule = Callable[[Observation, Observation], bool]
"""Returns True if the second answer must wake the incident that got the first one."""


def needs_wake_up(last: Observation, now: Observation) -> bool:
    """True if an incident that was answered `last` must be woken for `now`; see also `has_late_request`."""
    return _compared(last) != _compared(now) or any(rule(last, now) for rule in _NAMED)


def _has_ended_otherwise(last: Observation, now: Observation) -> bool:
    """True if the target ended, is back, or ended in another way.

    A replacement for a target that is gone also ends a wait.
    """
    if last.state in ENDED:
        return (last.state, last.is_replaced) != (now.state, now.is_replaced)
    return now.state in ENDED


def _is_recovery_interrupted(last: Observation, now: Observation) -> bool:
    """True if recovery must be proven, and there was a new boot or an unseen gap."""
    is_other = (now.boot_id, now.last_transition) != (last.boot_id, last.last_transition)
    return is_other and now.proven_recovery_seconds > 0 and now.state is TargetState.HEALTHY


def _is_recorded_in_shadow(last: Observation, now: Observation) -> bool:
    """True if an incident in shadow must record an action of others."""
    if not now.is_shadow:
        return False
    uids, before = ({request.uid for request in observation.requests} for observation in (now, last))
    return (uids, now.under_way) != (before, last.under_way)


def _reports_else(last: Observation, now: Observation) -> bool:
    """True if a report of a remediator changes the next move; annotations of requests are the incident's own.

    Only the timestamp of a recovery is never changed into another one by the incident.
    """
    before = {request.uid: _report(request, now) for request in last.requests}
    since = {request.uid: request.healthy_since for request in last.requests}
    is_stamped_anew = any(
        request.healthy_since and since.get(request.uid) not in (None, request.healthy_since)
        for request in now.requests
    )
    return is_stamped_anew or any(
        before.get(request.uid, _NO_REPORT) != _report(request, now) for request in now.requests
    )


def _report(request: RequestSnapshot, now: Observation) -> tuple[bool | None, bool]:
    """The part of its remediator's report that matters to the incident.

    Success moves no step on while the target is unhealthy, so the next question is early enough for it. It
    ends an order to remediate, and the wait for a remediator that deletes its Node, which begins when the
    Node is gone.
    """
    if now.state is TargetState.GONE or now.order is not None:
        return request.succeeded, request.is_node_deletion_expected
    return False if request.succeeded is False else None, False


def _is_held_otherwise(last: Observation, now: Observation) -> bool:
    """True if the hold ended or has another reason, so that the details stay true."""
    if last.hold is None or _is_remediator_at_work(now):
        return False
    if last.state is now.state is TargetState.UNKNOWN:
        return now.hold is not None and _is_another_reason(last.hold, now.hold)
    is_unproven = now.state is TargetState.HEALTHY and now.proven_recovery_seconds > 0
    is_next_held = now.state is TargetState.EXPIRED or is_unproven
    return is_next_held and (now.hold is None or _is_another_reason(last.hold, now.hold))


def _is_another_reason(last: Hold, now: Hold) -> bool:
    """True if another reason holds; numbers in the message of the same reason wake no incident."""
    return now.reason != last.reason or (now.reason in _CHANGED_BY_EDITS and now.message != last.message)


def _is_remediator_at_work(now: Observation) -> bool:
    return not now.is_shadow and has_remediator_at_work(now, now.seen_at or _BEFORE_ALL)


def _lost_a_request(last: Observation, now: Observation) -> bool:
    left = {request.uid for request in now.requests}
    lost = [request for request in last.requests if request.uid not in left]
    if now.state in ENDED and not HealthyDelay.of(now).keeps_requests and not now.proven_recovery_seconds:
        # The incident deletes them itself now, and only waits for requests that a finalizer keeps or whose
        # remediator must finish. A fast remediator removes its finalizer before we see the deletion.
        return any(
            request.is_being_deleted or request.has_finalizers or request.is_node_deletion_expected
            for request in lost
        )
    return bool(lost)


NAMED_RULES: Mapping[WakeRule, Rule] = {
    WakeRule.IF_ENDED_OTHERWISE: _has_ended_otherwise,
    # The clock of a held target restarted, at the end of an upgrade: it has a timer again.
    WakeRule.IF_RESTARTED: lambda last, now: (
        last.state is TargetState.EXPIRED
        and now.state is TargetState.WAITING
        and last.hold is not None
        and not _is_remediator_at_work(now)
    ),
    # A time that moved by itself is the same fact, because the incident asks again when its timer ends.
    WakeRule.IF_ANOTHER_FACT: lambda last, now: (
        now.fact is not None if last.fact is None else not last.fact.same_as(now.fact)
    ),
    WakeRule.IF_HELD_OTHERWISE: _is_held_otherwise,
    # It is over, or its controller reports something else.
    WakeRule.IF_WAS_UNDER_WAY: lambda last, now: bool(last.under_way) and last.under_way != now.under_way,
    WakeRule.IF_REQUEST_LOST: _lost_a_request,
    WakeRule.IF_REMEDIATOR_REPORTS: _reports_else,
    # Another process changed the Lease: the remediation may be overdue now.
    WakeRule.IF_LEASE_ACQUIRED_ANEW: lambda last, now: (
        last.lease_acquired_at is not None and now.lease_acquired_at not in (None, last.lease_acquired_at)
    ),
    # An act that failed despite an admission may succeed with the changed templates.
    WakeRule.IF_ANOTHER_CHANCE: lambda last, now: (
        last.templates != now.templates and last.may_be_admitted and not _is_remediator_at_work(now)
    ),
    WakeRule.IF_RECOVERY_INTERRUPTED: _is_recovery_interrupted,
    # An unknown shadow has not ended.
    WakeRule.IF_SHADOW_CHANGED: lambda last, now: (
        now.is_shadow is not None and bool(last.is_shadow) != now.is_shadow
    ),
    WakeRule.IF_RECORDED_IN_SHADOW: _is_recorded_in_shadow,
    # Other steps need an approval, or it expires otherwise; a target without steps needs none.
    WakeRule.IF_APPROVAL_CHANGED: lambda last, now: (
        bool(last.steps and now.steps) and last.approval != now.approval
    ),
}
_DECLARED = wake_rules(Observation)
_compared = attrgetter(*(field for field, rules in _DECLARED.items() if WakeRule.ON_CHANGE in rules))
_NAMED = tuple(
    NAMED_RULES[rule]
    for rule in dict.fromkeys(chain.from_iterable(_DECLARED.values()))
    if rule not in (WakeRule.NEVER, WakeRule.ON_CHANGE)
)


def has_remediator_at_work(observation: Observation, now: datetime) -> bool:
    """True if its incident waits for a remediator and not for an admission.

    Decided by the times and reports of the requests, because annotating a request that is over may be
    impossible.
    """
    plan = Plan(observation.steps)
    return bool(observation.requests) and not any(
        request.succeeded or plan.is_over(request, now) for request in observation.requests
    )


def admitted_at(last: Observation, *, would_act: bool, before: datetime | None) -> datetime | None:
    """Since when an incident may be acting on an admission; None: it is not acting.

    `before` is the same before the answer `last`. An incident asks between its acts: if it learned that
    nothing is to be done, or would not act, it has no act in progress. A hold may be answered while the
    request of its latest act is not visible yet.
    """
    if would_act and last.may_be_admitted:
        return last.seen_at
    return before if would_act and last.state not in ENDED else None


def has_late_request(
    last: Observation, now: Observation, admitted: datetime | None, acted_on_within: timedelta
) -> bool:
    """True if a request appeared since `last` that no act on the admission of `admitted` can have made."""
    if not appeared(last, now):
        return False
    return admitted is None or now.seen_at is None or now.seen_at - admitted > acted_on_within


def appeared(last: Observation, now: Observation) -> frozenset[str]:
    """The uids of requests that are visible now and not in `last`."""
    return frozenset(request.uid for request in now.requests) - {request.uid for request in last.requests}
