"""Waiting: an incident's reasons to wait, and how its details name them. Pure.

Each moment is an `Until` of the `Wait`. The timer ends with the earliest of them; the details name the
earliest one that moves the incident on. Some do not: the renewal of its Lease, the flag of an old request, a
look at a request kept by a finalizer, the next try of a chore, and the split of a long timer. A failed
deletion and a failed act do, because the incident waits for nothing else. During a person's hold without an
end no moment moves it on before `resume`.

With thousands of questions at once an answer may be too old when it is read. Asking again immediately would
delay the other incidents, so after the second late answer in a row the incident waits, each time for longer.
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
from objects.backoff import EQUAL_JITTER, Backoff

ASKS_AGAIN = "asks the detector again"
DEADLINE_PASSES = "its deadline passes"
SPREAD_FROM, SPREAD = timedelta(minutes=10), (0.9, 1.0)
"""Holds at least this long are asked about again after a random share of their time."""
LATE_ANSWERS = Backoff(timedelta(seconds=20), timedelta(seconds=60), jitter=EQUAL_JITTER)
BY_RESUME = NextTransition(what="by resume, or when it recovers")


def wait(
    phase: Phase,
    details: Details,
    now: datetime,
    *until: Until | None,
    otherwise: NextTransition = BY_A_CHANGE,
) -> Wait:
    """Wait until the earliest of some moments, and never longer than the safety net."""
    return Wait(phase, details, otherwise=otherwise).or_until(*until, safety_net(now))


def safety_net(now: datetime) -> Until:
    """The longest time without a question to the detector."""
    return Until(now + LONGEST_WAIT)


def not_before_resume(waiting: Wait, memory: Memory) -> Wait:
    """The same wait; under a person's hold without an end, no moment moves the incident on."""
    if memory.held is None or memory.held.until is not None:
        return waiting
    return replace(waiting, until=tuple(one.hidden for one in waiting.until), otherwise=BY_RESUME)


def status(seen: Observation, memory: Memory) -> Details:
    """The state of the target and its requests, with a person's hold."""
    requests = ", ".join(map(str, seen.requests))
    return seen.details(held=memory.hold_reason).model_copy(update={"requests": requests})


def spread(waiting: Wait, memory: Memory, now: datetime, random: Random) -> Wait:
    """The same; a long hold is asked about slightly early, so that thousands do not ask at once."""
    timeout = waiting.requeue_after(now)
    is_held = waiting.phase is Phase.HELD and not memory.held
    if not is_held or timeout is None or timeout < SPREAD_FROM:
        return waiting
    return waiting.or_until(Until(now + timeout * random.uniform(*SPREAD), ASKS_AGAIN))


def after_late_answers(late: int, random: Random) -> timedelta:
    """The wait before the next question after this many late answers in a row."""
    if late <= 1:
        return timedelta()  # the worker may have been down
    return LATE_ANSWERS.wait(late - 1, random.random())


def asks_again(seen: Observation, now: datetime) -> Until | None:
    """When the detector is asked again about its hold."""
    if seen.hold is None:
        return None
    return Until(now + timedelta(seconds=seen.hold.ask_again_seconds), ASKS_AGAIN)


def hold_ends(memory: Memory) -> Until | None:
    """When a person's hold expires; None: it does not."""
    return Until(memory.held.until, "the hold ends") if memory.held and memory.held.until else None


def deadline(seen: Observation, now: datetime) -> Until | None:
    """When the timer of a waiting target ends."""
    if seen.state is not TargetState.WAITING:
        return None
    return Until(now + timedelta(seconds=seen.remaining_seconds), DEADLINE_PASSES)


def chore(at: datetime | None) -> Until | None:
    """When a chore is due; None: no chore is."""
    return None if at is None else Until(at)


def step_at(at: datetime, seen: Observation, memory: Memory) -> Step | None:
    """The step that would be next at that time."""
    number = Plan(seen.steps, memory.spent).course(seen.requests, at).next_step
    return None if number is None else seen.steps[number]


def followed(step: Step | None) -> str:
    """The next step, as the end of a sentence."""
    return f", and {named(step)} is next" if step else ""


def named(step: Step) -> str:
    """A step in words: people know it by its template."""
    if step.action is Action.REQUEST:
        return f"{step.template.kind}/{step.template.name}"
    return "its deletion" if step.action is Action.DELETE else "a mark for another controller"
