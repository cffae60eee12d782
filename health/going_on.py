"""GoingOn: when a resting incident goes on by itself, though nothing changes in the cluster. Pure.

A workflow wakes earlier than that: to renew the Lease of its target, to flag a request that grows old, to see
whether a finalizer is gone, and in any case after `resting.LONGEST_REST`. None of that takes an incident
anywhere, so it is no answer for people who ask what happens next, and when.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from health.escalation import Plan
from health.healthy_delay import Delay
from health.memory import Memory
from health.moves import Phase
from health.observation import ENDED, Observation, TargetState
from health.overdue import overdue_at


@dataclass(frozen=True)
class Resting:
    """An incident that rests."""

    phase: Phase
    seen: Observation
    """What it rests on, answered at `answered_at`."""
    memory: Memory
    wakes_at: datetime


def goes_on_at(resting: Resting) -> datetime | None:
    """When it goes on; None: not before something changes in the cluster, or an order comes."""
    return _RULES.get(resting.phase, _never)(resting)


def _never(_: Resting) -> datetime | None:
    """What waits for a person, for a finalizer, or for a template."""
    return None


def _deadline(resting: Resting) -> datetime | None:
    seen = resting.seen
    if seen.state is not TargetState.WAITING or seen.answered_at is None:
        return None
    return seen.answered_at + timedelta(seconds=seen.remaining_seconds)


def _held(resting: Resting) -> datetime | None:
    """By a person until that order ends; by anything else until the detector is asked again."""
    return resting.memory.held_until if resting.memory.held else resting.wakes_at


def _left_alone(resting: Resting) -> datetime | None:
    return resting.memory.left_alone_until


def _remediating(resting: Resting) -> datetime | None:
    if resting.seen.state is TargetState.UNKNOWN:
        return resting.wakes_at if resting.seen.hold else None
    if resting.seen.state in ENDED:
        return None  # its remediator expects the end of the node
    held = resting.memory.held_until if resting.memory.held else None
    return _first(_timeout(resting), _overdue(resting), _deadline(resting), held)


def _timeout(resting: Resting) -> datetime | None:
    """When the step that runs times out."""
    plan = Plan(resting.seen.steps, resting.memory.spent)
    return plan.course(resting.seen.requests, resting.seen.answered_at or resting.wakes_at).until


def _overdue(resting: Resting) -> datetime | None:
    """When the request is told to stop, and the Lease is given back."""
    seen, memory = resting.seen, resting.memory
    if not seen.requests or seen.state is not TargetState.EXPIRED or not memory.may_hold_lease:
        return None
    plan = Plan(seen.steps, memory.spent)
    duration = timedelta(seconds=memory.lease_seconds)
    latest = plan.latest(seen.requests)
    return overdue_at(plan, latest, memory.lease_acquired_at, duration, made_under=memory.made_under)


def _healthy_delay(resting: Resting) -> datetime | None:
    seen = resting.seen
    now = seen.answered_at or resting.wakes_at
    delay = Delay(seen.healthy_delay_seconds, seen.is_confirmed)
    kept = [one for one in seen.requests if not one.is_being_deleted and delay.is_running(one, now)]
    left = [wait for one in kept if (wait := delay.remaining(one, now)) is not None]
    return now + max(left) if left else None


def _first(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)


_RULES: Mapping[Phase, Callable[[Resting], datetime | None]] = MappingProxyType(
    {
        Phase.WAITING: _deadline,
        Phase.HELD: _held,
        Phase.REMEDIATING: _remediating,
        Phase.HEALTHY_DELAY: _healthy_delay,
        Phase.LEFT_ALONE: _left_alone,
    }
)
