"""Moments: when the wait of an incident ends, and the event that happens then. Pure.

Each function returns one moment of an incident, or None if nothing ends the wait in that way. The moments of
maintenance tasks are in `health.runbook.maintenance`.
"""

from dataclasses import replace
from datetime import timedelta

from health.model.moves import LONGEST_WAIT, Moment, NextEvent
from health.model.observation import TargetState
from health.runbook.incident import Incident
from health.runbook.memory_parts import SEEN_AFTER

ASK_AGAIN = timedelta(minutes=1)


def safety_net(incident: Incident) -> Moment:
    """The longest time without a question to the detector."""
    return Moment(incident.now + LONGEST_WAIT)


def mark_is_seen(incident: Incident) -> Moment | None:
    marked_at = incident.memory.disruption.marked_at
    return Moment(marked_at + SEEN_AFTER) if marked_at and incident.is_mark_unseen else None


def delay_ends(incident: Incident) -> Moment | None:
    """When the delay has ended and the recovery is proven; None: not before a person confirms."""
    delay, kept, proven = incident.delay, incident.kept_requests, incident.proven_at
    if kept and delay.is_for_good:
        return None
    left = [delay.remaining(request, incident.now) for request in kept if delay.keeps_requests]
    delayed = incident.now + max((rest for rest in left if rest is not None), default=timedelta())
    if proven is not None and proven >= delayed:
        return Moment(proven, NextEvent.RECOVERY_IS_PROVEN)
    return Moment(delayed, NextEvent.DELAY_ENDS)


def abort_ends(incident: Incident) -> Moment | None:
    order = incident.memory.left_alone
    return Moment(order.until, NextEvent.ABORT_ENDS) if order and order.until else None


def hold_ends(incident: Incident) -> Moment | None:
    """When a person's hold expires; None: it does not."""
    held = incident.memory.held
    return Moment(held.until, NextEvent.HOLD_ENDS) if held and held.until else None


def hold_ends_without_event(incident: Incident) -> Moment | None:
    """The end of a person's hold, which is no reason to go on with a clean-up."""
    ends = hold_ends(incident)
    return ends and replace(ends, event=None)


def deadline(incident: Incident) -> Moment | None:
    """When the timer of a waiting target ends."""
    if incident.observation.state is not TargetState.WAITING:
        return None
    left = timedelta(seconds=incident.observation.remaining_seconds)
    return Moment(incident.now + left, NextEvent.DEADLINE_PASSES)


def step_times_out(incident: Incident) -> Moment | None:
    at = incident.course.until
    return Moment(at, NextEvent.STEP_TIMES_OUT, is_passed=True) if at else None


def stop_is_given_up(incident: Incident) -> Moment | None:
    at = incident.step_waits_until
    return Moment(at, NextEvent.STOP_IS_GIVEN_UP) if at else None


def act_is_due(incident: Incident) -> Moment | None:
    failing = incident.memory.failing
    return Moment(failing.next_act, NextEvent.ACT_IS_DUE) if failing else None


def back_off_ends(incident: Incident) -> Moment | None:
    due = incident.due_after_loss
    return Moment(due, NextEvent.ASKS_AGAIN) if due else None


def approval_expires(incident: Incident) -> Moment | None:
    """When the default of the check answers; None: it never does, or did not."""
    approval = incident.memory.approval
    if approval is None or approval.expires_at is None or approval.is_expired:
        return None
    return Moment(approval.expires_at, NextEvent.APPROVAL_EXPIRES)


def asks_again(incident: Incident) -> Moment | None:
    """When the detector is asked again about its hold."""
    hold = incident.observation.hold
    if hold is None:
        return None
    return Moment(incident.now + timedelta(seconds=hold.ask_again_seconds), NextEvent.ASKS_AGAIN)


def asks_again_soon(incident: Incident) -> Moment:
    return Moment(incident.now + ASK_AGAIN, NextEvent.ASKS_AGAIN)
