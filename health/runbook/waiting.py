"""Waiting: for what an incident waits, and what people are told of that. Pure.

Each moment is an `Until` of the `Wait`. Its timer ends with the first of them all, whatever that is; people
are told the first that takes the incident further. The renewal of its Lease, the flag of a request that grows
old, a check of what hangs on a finalizer, another try of a chore and a timer that is too long take it
nowhere; but what could not be deleted, and an act that failed, are all that it waits for. Nor does anything
that runs out under a person's hold without an end: nothing follows it before `resume`.

Where thousands ask at once an answer may be too old when it is read. Asked again at once each would keep the
others waiting: who is told too late twice in a row waits for a while, and longer each time.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from health.model.details import Details
from health.model.moves import BY_A_CHANGE, LONGEST_WAIT, NextTransition, Phase, Until, Wait
from health.model.observation import Observation, TargetState
from health.model.references import Action, Step
from health.runbook.escalation import Plan
from health.runbook.memory import Memory

ASKS_AGAIN = "asks the detector again"
DEADLINE_PASSES = "its deadline passes"
SPREAD_FROM, SPREAD = timedelta(minutes=10), (0.9, 1.0)
"""From which length on a hold is asked about again at a random share of its time."""
LATE_FIRST, LATE_LONGEST, LATE_SHARE = timedelta(seconds=20), timedelta(seconds=60), (0.5, 1.0)
"""How long it waits after the second answer in a row that came too late, at most, and which share of that."""
_MOST_DOUBLINGS = 30
BY_RESUME = NextTransition(what="by resume, or when it recovers")


def wait(
    phase: Phase,
    details: Details,
    now: datetime,
    *until: Until | None,
    otherwise: NextTransition = BY_A_CHANGE,
) -> Wait:
    """Wait until the first of some moments, or until it is time to ask in any case."""
    return Wait(phase, details, otherwise=otherwise).or_until(*until, safety_net(now))


def safety_net(now: datetime) -> Until:
    """When the detector is asked in any case."""
    return Until(now + LONGEST_WAIT)


def not_before_resume(waiting: Wait, memory: Memory) -> Wait:
    """The same, where a person's hold without an end keeps anything from following what runs out."""
    if memory.held is None or memory.held.until is not None:
        return waiting
    return replace(waiting, until=tuple(one.hidden for one in waiting.until), otherwise=BY_RESUME)


def status(seen: Observation, memory: Memory) -> Details:
    """How the target and its requests are, and what a person says."""
    requests = ", ".join(map(str, seen.requests))
    return seen.details(held=memory.hold_reason).model_copy(update={"requests": requests})


def spread(waiting: Wait, memory: Memory, now: datetime, random: Random) -> Wait:
    """The same; about a long hold it asks again a little early, so that a thousand don't ask at once."""
    timeout = waiting.requeue_after(now)
    is_held = waiting.phase is Phase.HELD and not memory.held
    if not is_held or timeout is None or timeout < SPREAD_FROM:
        return waiting
    return waiting.or_until(Until(now + timeout * random.uniform(*SPREAD), ASKS_AGAIN))


def after_late_answers(late: int, random: Random) -> timedelta:
    """How long an incident waits before it asks again, after so many answers in a row that came too late."""
    if late <= 1:
        return timedelta()  # a worker may just have been down
    doubled = LATE_FIRST * (1 << min(late - 2, _MOST_DOUBLINGS))
    return min(doubled, LATE_LONGEST) * random.uniform(*LATE_SHARE)


def asks_again(seen: Observation, now: datetime) -> Until | None:
    """When the detector is asked again about what it holds."""
    if seen.hold is None:
        return None
    return Until(now + timedelta(seconds=seen.hold.ask_again_seconds), ASKS_AGAIN)


def hold_ends(memory: Memory) -> Until | None:
    """When a person's hold ends by itself."""
    return Until(memory.held.until, "the hold ends") if memory.held and memory.held.until else None


def deadline(seen: Observation, now: datetime) -> Until | None:
    """When the timer of a target runs out."""
    if seen.state is not TargetState.WAITING:
        return None
    return Until(now + timedelta(seconds=seen.remaining_seconds), DEADLINE_PASSES)


def chore(at: datetime | None) -> Until | None:
    """When a chore is due; None where none is."""
    return None if at is None else Until(at)


def step_at(at: datetime, seen: Observation, memory: Memory) -> Step | None:
    """The step to be taken at that time."""
    number = Plan(seen.steps, memory.spent).course(seen.requests, at).next_step
    return None if number is None else seen.steps[number]


def followed(step: Step | None) -> str:
    """Which step follows, for people."""
    return f", and {named(step)} is next" if step else ""


def named(step: Step) -> str:
    """A step for people, who know it by its template."""
    if step.action is Action.REQUEST:
        return f"{step.template.kind}/{step.template.name}"
    return "its deletion" if step.action is Action.DELETE else "a mark for another controller"
