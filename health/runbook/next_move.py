"""NextMove: what an incident does next, as a pure function of what it sees and what it remembers.

This is the runbook. It is asked again after every move and every observation, so it holds from any state:
after a restart, an edit of the check, a recovery in the middle, an abort. The first row that fits wins:

1. A target that is healthy, gone or released: keep its requests for the healthyDelay, clean up, then end; one
   that the incident deleted is waited for until it is gone.
2. Left alone by a person, or told to start over: clean up; left alone, wait for recovery or `resume`.
3. The target was deleted or marked: wait, and do nothing twice.
4. A request exists or a step was tried: `health.runbook.remediating`.
5. Held by a person: hold, whatever the timer and the detector say.
6. The detector cannot tell: hold.
7. A timer runs: wait for the deadline.
8. Not admitted, or an attempt is to be awaited: hold. Else act.

Orders of people add up: each ends when its own time is over, and `resume` ends them all.

Row 1: a node whose end its remediator expects keeps its request until that reports success, or the check
selects a node of that name again (NHC 2.1/12). That one has another uid, and an incident of its own
(rule 11): the first neither recovered, so that a healthyDelay would run (NHC 2.6), nor is the second
remediated by these requests.

Row 3: a Machine that was deleted may hang on finalizers for an hour; what its Node says meanwhile changes
nothing. A mark is for another controller, which takes it off in the end; until the detector sees it nothing
is marked again, or a late observation would make a loop of that. A request is kept while its target is
neither unhealthy nor healthy, as a Machine is that has no Node, or that is going (MHC A.2.6).

Clean-up: each object is deleted by itself: what hangs on a finalizer or fails keeps nothing else. While a
request is there its remediator may be at work, so the Lease of the target stays until it runs out; it is not
renewed for a target that nobody remediates any more (NHC 2.6). What remains is tried again when the detector
sees other requests than before, each minute where a finalizer keeps it, and by its back-off where it failed.
"""

from datetime import datetime

from health.model.details import Details
from health.model.incident_result import OrderRecord
from health.model.moves import (
    REQUESTS_ARE_GONE,
    End,
    MarkRequests,
    Move,
    NextTransition,
    Outcome,
    Phase,
    RemoveRequests,
    RenewLease,
    Until,
    Wait,
)
from health.model.observation import ENDED, Observation, TargetState
from health.model.references import Action
from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import Chore
from health.runbook.healthy_delay import Delay
from health.runbook.marks import grows_old_at, healthy, old
from health.runbook.memory import SEEN_AFTER, Memory
from health.runbook.remediating import new_step, remediating
from health.runbook.waiting import (
    BY_RESUME,
    chore,
    hold_ends,
    not_before_resume,
    wait,
    wait_for_deadline,
    wait_for_detector,
    wait_for_resume,
)

REMEDIATOR_IS_DONE = NextTransition(what="when its remediator is done")
CONFIRMED = NextTransition(what="when a person confirms that it is healthy")


def next_move(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident that sees `seen` and remembers `memory`.

    No wait is longer than until a chore that failed is tried again.
    """
    move = _by_rule(seen, memory, now)
    return move.or_until(chore(memory.next_try(now))) if isinstance(move, Wait) else move


def _by_rule(seen: Observation, memory: Memory, now: datetime) -> Move:
    if seen.state in ENDED:
        return closing(seen, memory, now)
    if memory.left_alone:
        return _leave_alone(memory.left_alone, seen, memory, now)
    if memory.starts_over and (memory.owns_something or seen.requests):
        return _start_over(seen, memory, now)
    if is_disrupted(seen, memory):
        return disrupted(seen, memory, now)
    if seen.requests or memory.spent:
        return remediating(seen, memory, now)
    return _before_anything_was_done(seen, memory, now)


def _start_over(seen: Observation, memory: Memory, now: datetime) -> Move:
    details = Details(reason=seen.reason, order="starts over by order", held=memory.hold_reason)
    move = cleaning(seen, memory, now, details)
    if not isinstance(move, Wait) or memory.held is None:
        return move
    return move.or_until(chore(memory.held.until))


def _before_anything_was_done(seen: Observation, memory: Memory, now: datetime) -> Move:
    if memory.held:
        return wait_for_resume(Details(reason=seen.reason, held=memory.hold_reason), memory)
    if seen.state is TargetState.UNKNOWN:
        return wait_for_detector(seen, now)
    if seen.state is TargetState.WAITING:
        return wait_for_deadline(Details(reason=seen.reason), seen, memory, now)
    return new_step(0, seen, memory, now)


def _leave_alone(order: OrderRecord, seen: Observation, memory: Memory, now: datetime) -> Move:
    why = f"left alone: {order.reason}"
    if memory.owns_something or seen.requests:
        return cleaning(seen, memory, now, Details(order=why))
    ends = Until(order.until, "the abort ends") if order.until else None
    details = Details(reason=seen.reason, order=why)
    return Wait(Phase.LEFT_ALONE, details, otherwise=BY_RESUME).or_until(ends)


def closing(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident with nothing to remediate any more."""
    if not memory.left_alone:
        if is_in_between(seen, memory):
            return disrupted(seen, memory, now)
        kept = _kept_by_delay(seen, now)
        if kept:
            return _delayed(seen, kept, memory, now)
        if _is_end_of_node_expected(seen):
            details = Details(reason=seen.reason, more=("its remediator expects that, and is not done yet",))
            return wait(Phase.REMEDIATING, details, now, otherwise=REMEDIATOR_IS_DONE)
    if memory.owns_something or seen.requests or seen.is_confirmed:
        return cleaning(seen, memory, now, Details(reason=seen.reason))
    return End(_outcome(seen.state, memory), Details(reason=seen.reason))


def _kept_by_delay(seen: Observation, now: datetime) -> list[RequestSnapshot]:
    if seen.state is not TargetState.HEALTHY:
        return []
    delay = _delay(seen)
    return [one for one in seen.requests if not one.is_being_deleted and delay.is_running(one, now)]


def _delayed(seen: Observation, kept: list[RequestSnapshot], memory: Memory, now: datetime) -> Move:
    delay = _delay(seen)
    renewal = memory.renew_at if memory.may_hold_lease else None
    chores = [chore(at) for at in (renewal, *(grows_old_at(one, now) for one in kept))]
    details, ends = Details(reason=seen.reason, more=(str(delay),)), _end_of_delay(delay, kept, now)
    waiting = wait(Phase.HEALTHY_DELAY, details, now, ends, *chores, otherwise=CONFIRMED)
    news = () if delay.is_for_good else (healthy(one, now) for one in kept)
    due = (*news, *(old(one, now) for one in kept))
    marks = tuple(mark for mark in due if mark is not None and not memory.is_put_off(mark, now))
    if marks:
        return MarkRequests(marks, waiting.phase, details, waiting.next_transition)
    if renewal is not None and now >= renewal:
        return RenewLease(waiting.phase, details, waiting.next_transition)
    return waiting


def _end_of_delay(delay: Delay, kept: list[RequestSnapshot], now: datetime) -> Until | None:
    left = [rest for one in kept if (rest := delay.remaining(one, now)) is not None]
    return Until(now + max(left), "healthyDelay ends, and the requests are deleted") if left else None


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


def is_disrupted(seen: Observation, memory: Memory) -> bool:
    """Whether nothing is left to do to the target but to wait."""
    return memory.has_deleted or bool(seen.under_way) or _is_mark_unseen(seen, memory)


def _is_mark_unseen(seen: Observation, memory: Memory) -> bool:
    marks = any(step.action is Action.MARK for step in seen.steps)
    return memory.marked_at is not None and marks and not seen.under_way


def is_in_between(seen: Observation, memory: Memory) -> bool:
    """Whether a target that is not unhealthy is not yet as it ought to be."""
    return seen.state is TargetState.HEALTHY and (
        memory.has_deleted or bool(seen.requests and not seen.counts_as_healthy)
    )


def disrupted(seen: Observation, memory: Memory, now: datetime) -> Move:
    """Wait, and keep the Lease meanwhile."""
    waiting = _wait_for_disruption(seen, memory, now)
    if not memory.may_hold_lease:
        return waiting
    if memory.renew_at is None or now >= memory.renew_at:
        return RenewLease(waiting.phase, waiting.details, waiting.next_transition)
    return waiting.or_until(chore(memory.renew_at))


def _wait_for_disruption(seen: Observation, memory: Memory, now: datetime) -> Wait:
    details = Details(reason=seen.reason, more=(_why(seen, memory),))
    unseen = chore(_patience_ends(seen, memory))
    if seen.state in ENDED:
        return wait(Phase.REMEDIATING, details, now, unseen, otherwise=REMEDIATOR_IS_DONE)
    return not_before_resume(wait(Phase.REMEDIATING, details, now, unseen, hold_ends(memory)), memory)


def _patience_ends(seen: Observation, memory: Memory) -> datetime | None:
    """Until when the mark may still go unseen; None: it is seen, or there is none."""
    if memory.marked_at is None or not _is_mark_unseen(seen, memory):
        return None
    return memory.marked_at + SEEN_AFTER


def _why(seen: Observation, memory: Memory) -> str:
    if seen.under_way:
        return seen.under_way
    if memory.has_deleted:
        return "it was deleted, and is not gone yet"
    if _is_mark_unseen(seen, memory):
        return "it was marked, and is not seen to be yet"
    return "but it does not count as healthy yet"


def cleaning(seen: Observation, memory: Memory, now: datetime, details: Details) -> RemoveRequests | Wait:
    """Clean up now, or wait until that is tried again."""
    if _is_due(seen, memory, now):
        return RemoveRequests(details)
    has_failed = any(note.chore is Chore.CLEAN_UP for note in memory.notes)
    what = "what could not be cleaned up is tried again" if has_failed else ""
    again = Until(memory.clean_up_at, what) if memory.clean_up_at else None
    return wait(
        Phase.CLEANING_UP, details.and_also(_hanging(memory)), now, again, otherwise=REQUESTS_ARE_GONE
    )


def _is_due(seen: Observation, memory: Memory, now: datetime) -> bool:
    if memory.clean_up_at is None or now >= memory.clean_up_at:
        return True
    was_asked = seen.state is not TargetState.UNKNOWN or seen.hold is not None
    return was_asked and memory.cleaned_up != tuple(sorted(one.uid for one in seen.requests))


def _hanging(memory: Memory) -> str:
    failed = {note.subject for note in memory.notes if note.chore is Chore.CLEAN_UP}
    hanging = [str(one) for one in memory.requests if one.uid not in failed]
    return f"{', '.join(hanging)} hangs on a finalizer" if hanging else ""
