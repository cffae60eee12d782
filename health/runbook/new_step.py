"""NewStep: whether the next step of a remediation is taken now, or what the incident waits for. Pure.

A further step is a new act and needs an admission like the first one. The first row that matches wins:

| state                                           | phase   | it waits for                                |
|-------------------------------------------------|---------|---------------------------------------------|
| a person holds it, in any other state           | Held    | `resume`, the end of the hold               |
| the state of the target is unknown              | Held    | another answer                              |
| a timer runs                                    | Waiting | the deadline                                |
| the stop annotation could not be written        | Held    | a minute at most                            |
| another hold                                    | Held    | a wake, or the time to ask again            |
| the latest act failed a moment ago              | Held    | its back-off (`health.runbook.failing_acts`)|
| another actor deleted the previous request      | Held    | the back-off of remediations (rule 14)      |
| in shadow                                       | Acting  | the step is recorded, not taken             |
| not admitted (ADR 40)                           | Held    | another question, which asks to act         |
| admitted                                        | Acting  |                                             |

A remediator may still work until an annotation asks it to stop. The incident waits for that annotation a
minute at most, and its details say so, because a permanent refusal (a dead webhook, a missing right) must not
block the remediation. A request or mark that another actor removed while the target is unhealthy counts as an
attempt (rule 14): the next one waits as if the incident had ended with it, and a person's `resume` skips that
wait. A request that the incident deleted itself, or that the detector counts as an earlier remediation, is
not a loss (`Memory.settled`).
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from health.gate.back_off import after_a_loss, delay
from health.model.chore_subject import ChoreSubject
from health.model.moves import Phase, RecordStep, TakeStep, Until, Wait
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import Action
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import Chore
from health.runbook.memory import Memory
from health.runbook.waiting import (
    ASKS_AGAIN,
    BY_RESUME,
    DEADLINE_PASSES,
    asks_again,
    followed,
    hold_ends,
    status,
    step_at,
    wait,
)
from objects.timestamps import stamp

NOTHING_TO_ACT_ON = "the answer of the detector names no step, or no fact to act on"
"""The detector never answers so, but a workflow that was started by hand may carry any facts."""
NO_WORD_OF_ADMISSION = "the detector is of another version: its answer neither admits the step nor holds it"
ASK_AGAIN = timedelta(minutes=1)
STOP_PATIENCE = timedelta(minutes=1)
"""Starts at the first failure to write the stop annotation."""


def new_step(
    number: int, seen: Observation, memory: Memory, now: datetime, over: Iterable[RequestSnapshot] = ()
) -> TakeStep | RecordStep | Wait:
    """Take the step with that index, or wait; `over` are the requests of earlier steps."""
    if memory.held:
        return Wait(Phase.HELD, status(seen, memory), otherwise=BY_RESUME).or_until(hold_ends(memory))
    if seen.state is TargetState.UNKNOWN:
        return _wait_for_detector(seen, now)
    if seen.state is TargetState.WAITING:
        return _wait_for_deadline(seen, memory, now)
    stop = stop_awaited_until(over, memory)
    if stop is not None and now < stop:
        return _wait_for_stop(stop, seen, memory, now)
    if _is_held(seen, memory, now):
        return _wait_for_detector(seen, now)
    if number >= len(seen.steps) or seen.fact is None:
        return _not_yet(NOTHING_TO_ACT_ON, seen, now, Until(now + ASK_AGAIN, ASKS_AGAIN))
    return _wait_between_acts(number, seen, memory, now) or _due(number, seen, memory, now)


def _due(number: int, seen: Observation, memory: Memory, now: datetime) -> TakeStep | RecordStep | Wait:
    """The step, if it is admitted; in shadow it needs no admission."""
    if memory.is_shadow:
        return RecordStep(number, seen.details())
    if seen.admission is not None:
        return TakeStep(number, seen.admission, seen.details())
    if seen.hold is not None:
        return _wait_for_detector(seen, now)
    return _not_yet(NO_WORD_OF_ADMISSION, seen, now, Until(now + ASK_AGAIN, ASKS_AGAIN))


def _wait_for_detector(seen: Observation, now: datetime) -> Wait:
    if seen.hold is None:
        return Wait(Phase.HELD, seen.details())
    again = seen.hold.ask_again_seconds
    details = seen.details(str(seen.hold)).model_copy(update={"ask_again_seconds": again})
    return wait(Phase.HELD, details, now, asks_again(seen, now))


def _wait_for_deadline(seen: Observation, memory: Memory, now: datetime) -> Wait:
    at = now + timedelta(seconds=seen.remaining_seconds)
    words = f"{DEADLINE_PASSES}{followed(step_at(at, seen, memory))}"
    return wait(Phase.WAITING, status(seen, memory), now, Until(at, words))


def _wait_for_stop(until: datetime, seen: Observation, memory: Memory, now: datetime) -> Wait:
    why = f"the next step waits until {stamp(until)} for the stop annotation of the previous request"
    next_step = followed(step_at(now, seen, memory))
    ends = Until(until, f"it stops waiting for the stop annotation of the previous request{next_step}")
    return wait(Phase.HELD, status(seen, memory).and_also(why), now, ends)


def _wait_between_acts(number: int, seen: Observation, memory: Memory, now: datetime) -> Wait | None:
    failing = memory.failing
    if failing is not None and failing.delays(seen, now):
        return _not_yet(failing.words, seen, now, Until(failing.next_act, "its next attempt to act is due"))
    due = due_after_a_loss(seen, memory)
    if due is not None and now < due:
        lost = "mark" if seen.steps[number].action is Action.MARK else "request"
        return _not_yet(after_a_loss(due, lost), seen, now, Until(due, ASKS_AGAIN))
    return None


def _not_yet(why: str, seen: Observation, now: datetime, until: Until) -> Wait:
    return wait(Phase.HELD, seen.details(why), now, until)


def _is_held(seen: Observation, memory: Memory, now: datetime) -> bool:
    """True if another hold than the missing admission applies.

    An incident that backs off after a failed act asked for no slot: a limit says nothing to it, and its next
    question is due with its next act. In shadow the incident itself skips back-off after `resume`.
    """
    if seen.hold is None or seen.hold.reason is HoldReason.NO_ADMISSION:
        return False
    if seen.hold.reason is HoldReason.LIMIT and memory.failing is not None:
        return not memory.failing.delays(seen, now)
    is_skipped = memory.is_shadow and memory.skips_back_off
    return not (is_skipped and seen.hold.reason is HoldReason.BACK_OFF)


def due_after_a_loss(seen: Observation, memory: Memory) -> datetime | None:
    """When the next request is due after the loss of the previous one; None: there was no loss."""
    if memory.loss is None or memory.skips_back_off or not seen.back_off_limit_seconds:
        return None
    limit = timedelta(seconds=seen.back_off_limit_seconds)
    return memory.loss.at + delay(memory.attempts_before(seen), limit)


def stop_awaited_until(over: Iterable[RequestSnapshot], memory: Memory) -> datetime | None:
    """Until when the step waits for the stop annotations of requests that are over; None: it does not."""
    notes = {note.subject: note for note in memory.notes if note.chore is Chore.ANNOTATE}
    hidden = (one for one in over if one.timed_out_at is None and not one.succeeded)
    stops = (ChoreSubject.of_annotations(one.uid, [TIMED_OUT]) for one in hidden)
    return max((notes[stop].since + STOP_PATIENCE for stop in stops if stop in notes), default=None)
