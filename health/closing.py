"""Closing: what an incident does when its target is healthy, gone or released.

Requests of a healthy target are kept for the check's healthyDelay (semantics 2.6); those of a node whose end
their remediator expects, until it reports success, or the check selects a node of that name again (2.1/12).
That one is another individual, with an incident of its own (decision 11): it neither recovered, so that a
healthyDelay would run, nor is remediated by these requests. Then everything goes, and the incident ends.
"""

from datetime import datetime

from health.cleaning import cleaning
from health.disrupted import disrupted, is_in_between
from health.healthy_delay import Delay
from health.marks import healthy, old, seconds_until_old
from health.memory import Memory
from health.moves import End, MarkRequests, Move, Outcome, Phase, Renew
from health.observation import Observation, TargetState
from health.request_sight import RequestSight
from health.resting import rest, seconds_until


def closing(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident with nothing to remediate any more."""
    if not memory.left_alone:
        if is_in_between(seen, memory):
            return disrupted(seen, memory, now)
        kept = _kept_by_delay(seen, now)
        if kept:
            return _delayed(seen, kept, memory, now)
        if _is_end_of_node_expected(seen):
            return rest(Phase.REMEDIATING, f"{seen.reason}; its remediator expects that, and is not done yet")
    if memory.owns_something or seen.requests or seen.is_confirmed:
        return cleaning(seen, memory, now, seen.reason)
    return End(_outcome(seen.state, memory), seen.reason)


def _kept_by_delay(seen: Observation, now: datetime) -> list[RequestSight]:
    if seen.state is not TargetState.HEALTHY:
        return []
    delay = _delay(seen)
    return [one for one in seen.requests if not one.is_being_deleted and delay.is_running(one, now)]


def _delayed(seen: Observation, kept: list[RequestSight], memory: Memory, now: datetime) -> Move:
    delay = _delay(seen)
    details = f"{seen.reason}; {delay}"
    news = () if delay.is_for_good else (healthy(one, now) for one in kept)
    due = (*news, *(old(one, now) for one in kept))
    marks = tuple(mark for mark in due if mark is not None and not memory.is_put_off(mark, now))
    if marks:
        return MarkRequests(marks, Phase.HEALTHY_DELAY, details)
    renewal = seconds_until(memory.renew_at, now) if memory.may_hold_lease else None
    if renewal == 0:
        return Renew(Phase.HEALTHY_DELAY, details)
    waits = [delay.remaining(one, now) for one in kept]
    ends = [wait.total_seconds() for wait in waits if wait is not None]
    ages = (seconds_until_old(one, now) for one in kept)
    return rest(Phase.HEALTHY_DELAY, details, max(ends, default=None), renewal, *ages)


def _delay(seen: Observation) -> Delay:
    return Delay(seen.healthy_delay_seconds, seen.is_confirmed)


def _is_end_of_node_expected(seen: Observation) -> bool:
    if seen.state is not TargetState.GONE or seen.is_replaced:
        return False
    return any(one.is_node_deletion_expected and not one.succeeded for one in seen.requests)


def _outcome(state: TargetState, memory: Memory) -> Outcome:
    if state is TargetState.GONE:
        return Outcome.REMEDIATED if memory.has_deleted else Outcome.GONE
    if state is TargetState.RELEASED:
        return Outcome.RELEASED
    return Outcome.REMEDIATED if memory.has_acted and not memory.left_alone else Outcome.RECOVERED
