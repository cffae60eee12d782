"""NextTransition: when a waiting incident goes on by itself, in a cluster that stays as it is, and how.

A workflow wakes earlier than that: to renew the Lease of its target, to flag a request that grows old, to see
whether a finalizer is gone, to try a chore again, and in any case after `resting.LONGEST_REST`. None of that
takes an incident anywhere, so it is no answer for people who ask what happens next, and when; but what could
not be deleted, and an act that failed, are all that it waits for. Nor does anything that runs out under a
person's hold without an end: nothing follows it before `resume`. Pure.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from types import MappingProxyType

from health.model.moves import Phase
from health.model.observation import ENDED, Observation, TargetState
from health.model.references import Action, Step
from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import Chore
from health.runbook.escalation import Plan
from health.runbook.healthy_delay import Delay
from health.runbook.memory import Memory
from health.runbook.remediating import overdue_at, stop_awaited_until
from health.runbook.waiting import A_HAIR

NO_TEMPLATE_LEFT = "no template is left to try"
BY_RESUME = "by resume, or when it recovers"
_ASKS = "asks the detector again"
End = tuple[datetime, str]
"""When something that runs is over, and what happens then."""
_CHANGE = "when something changes in the cluster, or by an order"


@dataclass(frozen=True)
class WaitingIncident:
    """An incident that rests."""

    phase: Phase | str
    seen: Observation
    """What it rests on, answered at `answered_at`."""
    memory: Memory
    wakes_at: datetime | None
    """None where it waits for nothing but a look or an order, and while it changes something."""


@dataclass(frozen=True)
class NextTransition:
    """What takes an incident further."""

    at: datetime | None
    """None: not before something changes in the cluster, or an order comes."""
    words: str
    """What happens then; without a time, what is waited for."""


def goes_on(resting: WaitingIncident) -> NextTransition:
    """When it goes on, and with what."""
    return _RULES.get(resting.phase, _by_a_change)(resting)


def overdue(resting: WaitingIncident) -> datetime | None:
    """When the request is told to stop, and the Lease is given back."""
    seen, memory = resting.seen, resting.memory
    if not seen.requests or seen.state is not TargetState.EXPIRED or not memory.may_hold_lease:
        return None
    plan = Plan(seen.steps, memory.spent)
    duration = timedelta(seconds=memory.lease_seconds)
    latest = plan.latest(seen.requests)
    return overdue_at(plan, latest, memory.lease_acquired_at, duration, made_under=memory.made_under)


def _by_a_change(_: WaitingIncident) -> NextTransition:
    return NextTransition(None, _CHANGE)


def _waiting(resting: WaitingIncident) -> NextTransition:
    deadline = _deadline(resting)
    if deadline is None:
        return _by_a_change(resting)
    return NextTransition(deadline, f"its deadline passes{_followed(_next_step(resting, deadline))}")


def _held(resting: WaitingIncident) -> NextTransition:
    """By a person until that order ends; by what failed until its time; else until the detector is asked."""
    if resting.memory.held:
        return _hold_ends(resting.memory)
    if resting.wakes_at is None:
        return _by_a_change(resting)
    end = _stop_awaited(resting) or _next_act(resting)
    return NextTransition(*end) if end else NextTransition(resting.wakes_at, _ASKS)


def _stop_awaited(resting: WaitingIncident) -> End | None:
    """When a step waits no longer for the one before to be told to stop."""
    moment, seen = resting.seen.answered_at, resting.seen
    if moment is None:
        return None
    course = Plan(seen.steps, resting.memory.spent).course(seen.requests, moment)
    until = stop_awaited_until(course.over, resting.memory)
    if until is None or until <= moment:
        return None
    step = None if course.next_step is None else seen.steps[course.next_step]
    return until, f"it waits no longer for the step before to be told to stop{_followed(step)}"


def _next_act(resting: WaitingIncident) -> End | None:
    failing = resting.memory.failing
    if failing is None or resting.seen.hold is not None or not failing.goes_on(resting.seen):
        return None
    return failing.next_act, "its next attempt to act is due"


def _hold_ends(memory: Memory) -> NextTransition:
    end = _end_of_hold(memory)
    return NextTransition(*end) if end else NextTransition(None, BY_RESUME)


def _end_of_hold(memory: Memory) -> End | None:
    return (memory.held_until, "the hold ends") if memory.held_until else None


def _left_alone(resting: WaitingIncident) -> NextTransition:
    until = resting.memory.left_alone_until
    return NextTransition(None, BY_RESUME) if until is None else NextTransition(until, "the abort ends")


def _acting(_: WaitingIncident) -> NextTransition:
    return NextTransition(None, "when its attempt to act is over")


def _exhausted(_: WaitingIncident) -> NextTransition:
    return NextTransition(None, f"{BY_RESUME}: {NO_TEMPLATE_LEFT}")


def _cleaning_up(resting: WaitingIncident) -> NextTransition:
    memory = resting.memory
    if memory.clean_up_at is not None and any(one.chore is Chore.CLEAN_UP for one in memory.notes):
        return NextTransition(memory.clean_up_at, "what could not be cleaned up is tried again")
    return NextTransition(None, "when the requests are gone")


def _remediating(resting: WaitingIncident) -> NextTransition:
    if resting.seen.state in ENDED:
        return NextTransition(None, "when its remediator is done")  # which expects the end of the node
    if resting.memory.held and resting.memory.held_until is None:
        return _hold_ends(resting.memory)
    if resting.seen.state is TargetState.UNKNOWN:
        return _blind(resting)
    ends = (_timeout(resting), _overdue(resting), _unhealthy_again(resting), _end_of_hold(resting.memory))
    first = min((end for end in ends if end is not None), key=itemgetter(0), default=None)
    return NextTransition(*first) if first else _by_a_change(resting)


def _blind(resting: WaitingIncident) -> NextTransition:
    if resting.seen.hold is None or resting.wakes_at is None:
        return _by_a_change(resting)
    return NextTransition(resting.wakes_at, _ASKS)


def _timeout(resting: WaitingIncident) -> End | None:
    """When the step that runs times out."""
    moment = resting.seen.answered_at or resting.wakes_at
    course = moment and Plan(resting.seen.steps, resting.memory.spent).course(resting.seen.requests, moment)
    if not course or course.running is None or course.until is None:
        return None
    return course.until, f"{_timed_out(resting, course.running)}{_after(resting, course.until)}"


def _timed_out(resting: WaitingIncident, request: RequestSnapshot) -> str:
    step = Plan(resting.seen.steps).step_of(request.reference)
    return f"the step {_named(step)} times out" if step else "its step times out"


def _after(resting: WaitingIncident, end: datetime) -> str:
    step = _next_step(resting, end + timedelta(seconds=A_HAIR))
    if step is None:
        return f", and {NO_TEMPLATE_LEFT}"
    return f"{_followed(step)}{' once the hold ends' if resting.memory.held else ''}"


def _overdue(resting: WaitingIncident) -> End | None:
    at = overdue(resting)
    return (at, "the remediation is overdue, and its Lease is given back") if at else None


def _unhealthy_again(resting: WaitingIncident) -> End | None:
    deadline = _deadline(resting)
    return (deadline, "its deadline passes") if deadline else None


def _healthy_delay(resting: WaitingIncident) -> NextTransition:
    seen = resting.seen
    now, delay = seen.answered_at or resting.wakes_at, Delay(seen.healthy_delay_seconds, seen.is_confirmed)
    if delay.is_for_good or now is None:
        return NextTransition(None, "when a person confirms that it is healthy")
    kept = [one for one in seen.requests if not one.is_being_deleted and delay.is_running(one, now)]
    left = [wait for one in kept if (wait := delay.remaining(one, now)) is not None]
    if not left:
        return _by_a_change(resting)
    return NextTransition(now + max(left), "healthyDelay ends, and the requests are deleted")


def _deadline(resting: WaitingIncident) -> datetime | None:
    seen = resting.seen
    if seen.state is not TargetState.WAITING or seen.answered_at is None:
        return None
    return seen.answered_at + timedelta(seconds=seen.remaining_seconds)


def _next_step(resting: WaitingIncident, now: datetime) -> Step | None:
    """The step to be taken at `now`."""
    steps = resting.seen.steps
    number = Plan(steps, resting.memory.spent).course(resting.seen.requests, now).next_step
    return None if number is None else steps[number]


def _followed(step: Step | None) -> str:
    return f", and {_named(step)} is next" if step else ""


def _named(step: Step) -> str:
    """A step for people, who know it by its template."""
    if step.action is Action.REQUEST:
        return f"{step.template.kind}/{step.template.name}"
    return "its deletion" if step.action is Action.DELETE else "a mark for another controller"


_RULES: Mapping[str, Callable[[WaitingIncident], NextTransition]] = MappingProxyType(
    {
        Phase.WAITING: _waiting,
        Phase.HELD: _held,
        Phase.ACTING: _acting,
        Phase.REMEDIATING: _remediating,
        Phase.EXHAUSTED: _exhausted,
        Phase.HEALTHY_DELAY: _healthy_delay,
        Phase.CLEANING_UP: _cleaning_up,
        Phase.LEFT_ALONE: _left_alone,
    }
)
