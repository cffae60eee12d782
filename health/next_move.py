"""NextMove: what an incident does next, as a pure function of what it sees and what it remembers.

This is the runbook. It is asked again after every move and every look, so it holds from any state: after a
restart, an edit of the check, a recovery in the middle, an abort. The first rule that fits wins:

1. A target that is healthy, gone or released: keep its requests for the healthyDelay, clean up, then end;
   one that the incident deleted is waited for until it is gone.
2. Left alone by a person, or told to start over: clean up; left alone, wait for recovery or `resume`.
3. The target was deleted or marked: `health.disrupted`.
4. A request exists or a step was tried: `health.remediating`.
5. Held by a person: hold, whatever the timer and the detector say.
6. The detector cannot tell: hold.
7. A timer runs: wait for the deadline.
8. Not admitted, or an attempt is to be awaited: hold. Else act.

Orders of people add up: each ends when its own time is over, and `resume` ends them all.
"""

from datetime import datetime

from health.cleaning import cleaning
from health.closing import closing
from health.disrupted import disrupted, is_disrupted
from health.memory import Memory
from health.moves import Move, Phase, Rest
from health.new_step import new_step
from health.observation import ENDED, Observation, TargetState
from health.remediating import remediating
from health.resting import hold, rest, seconds_until


def next_move(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident that sees `seen` and remembers `memory`.

    No rest is longer than until a chore that failed is tried again.
    """
    move = _by_rule(seen, memory, now)
    next_try = memory.next_try(now)
    if not isinstance(move, Rest) or next_try is None:
        return move
    return rest(move.phase, move.details, move.seconds, seconds_until(next_try, now))


def _by_rule(seen: Observation, memory: Memory, now: datetime) -> Move:
    if seen.state in ENDED:
        return closing(seen, memory, now)
    if memory.left_alone:
        return _leave_alone(seen, memory, now)
    if memory.starts_over and (memory.owns_something or seen.requests):
        return _start_over(seen, memory, now)
    if is_disrupted(seen, memory):
        return disrupted(seen, memory, now)
    if seen.requests or memory.spent:
        return remediating(seen, memory, now)
    return _before_anything_was_done(seen, memory, now)


def _start_over(seen: Observation, memory: Memory, now: datetime) -> Move:
    parts = (seen.reason, "starts over by order", memory.hold_in_words)
    move = cleaning(seen, memory, now, "; ".join(part for part in parts if part))
    if not isinstance(move, Rest) or not memory.held:
        return move
    return rest(move.phase, move.details, move.seconds, seconds_until(memory.held_until, now))


def _before_anything_was_done(seen: Observation, memory: Memory, now: datetime) -> Move:
    if memory.held:
        details = f"{seen.reason}; {memory.hold_in_words}"
        return Rest(Phase.HELD, details, seconds_until(memory.held_until, now))
    if seen.state is TargetState.UNKNOWN:
        return hold(seen)
    if seen.state is TargetState.WAITING:
        return rest(Phase.WAITING, seen.reason, seen.remaining_seconds)
    return new_step(0, seen, memory, now)


def _leave_alone(seen: Observation, memory: Memory, now: datetime) -> Move:
    why = f"left alone: {memory.left_alone_reason}"
    if memory.owns_something or seen.requests:
        return cleaning(seen, memory, now, why)
    return Rest(Phase.LEFT_ALONE, f"{seen.reason}; {why}", seconds_until(memory.left_alone_until, now))
