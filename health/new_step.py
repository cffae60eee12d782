"""NewStep: a step that makes a new request: only where the detector admits it, and not too soon after a loss.

A request or mark that somebody removed while its target is unhealthy counts as an attempt (decision 14): the
next one waits, as if the incident had ended with it. A person's `resume` skips that. What the incident
deleted itself, or the detector knows as an earlier remediation, is no loss (`Memory.settled`).
"""

from datetime import datetime, timedelta

from health.back_off import after_a_loss, delay
from health.memory import Memory
from health.moves import Act, Phase, Rest
from health.observation import HoldReason, Observation
from health.references import Action
from health.resting import hold, rest, seconds_until

NOTHING_TO_ACT_ON = "the answer of the detector names no step, or no fact to act on"
"""Our detector answers no such thing; what anybody starts by hand carries whatever was written."""
ASK_AGAIN_SECONDS = 60.0


def new_step(number: int, seen: Observation, memory: Memory, now: datetime) -> Act | Rest:
    """Act, or why not yet."""
    if seen.hold is not None and not _is_skipped(seen, memory):
        return hold(seen)
    if number >= len(seen.steps) or seen.fact is None:
        return rest(Phase.HELD, f"{seen.reason}; {NOTHING_TO_ACT_ON}", ASK_AGAIN_SECONDS)
    failing = memory.failing
    if failing is not None and failing.goes_on(seen) and now < failing.next_act:
        return rest(Phase.HELD, f"{seen.reason}; {failing.words}", seconds_until(failing.next_act, now))
    due = due_after_a_loss(seen, memory)
    if due is not None and now < due:
        lost = "mark" if seen.steps[number].action is Action.MARK else "request"
        return rest(Phase.HELD, f"{seen.reason}; {after_a_loss(due, lost)}", seconds_until(due, now))
    return Act(number, seen.reason)


def due_after_a_loss(seen: Observation, memory: Memory) -> datetime | None:
    """When the next request is due because somebody deleted the one before; None: it waits for no loss."""
    if memory.lost_at is None or memory.skips_back_off or not seen.back_off_limit_seconds:
        return None
    limit = timedelta(seconds=seen.back_off_limit_seconds)
    return memory.lost_at + delay(memory.attempts_before(seen), limit)


def _is_skipped(seen: Observation, memory: Memory) -> bool:
    return memory.skips_back_off and seen.hold is not None and seen.hold.reason is HoldReason.BACK_OFF
