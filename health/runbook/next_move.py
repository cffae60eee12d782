"""NextMove: what an incident does next, as a pure function of its observation and its memory.

This is the runbook. It is called after every move and every observation, so it works from any state: after
a restart, an edit of the check, a recovery in the middle, an abort. The first row that matches wins:

| state                                  | phase        | it waits for                 | what follows        |
|----------------------------------------|--------------|------------------------------|---------------------|
| healthy, gone or released: `closing`   |              |                              |                     |
| - deleted by the incident, and not     | Remediating  | the target is gone           | CleaningUp          |
|   gone; or not as it ought to be yet   |              |                              |                     |
| - a healthyDelay runs, or a proof      | HealthyDelay | its end, a confirmation      | CleaningUp          |
| - a remediator expects its deletion    | Remediating  | the remediator               | CleaningUp          |
| - objects of the incident are left     | CleaningUp   | the requests are gone        | Ended               |
| - nothing is left                      | Ended        |                              |                     |
| in shadow (`health.runbook.shadow`)    | as it would  | as it would                  | recorded, not done  |
| left alone by a person                 | CleaningUp,  | recovery, `resume`, the end  | Ended, or any other |
|                                        | LeftAlone    | of the abort                 |                     |
| a person ordered a restart             | CleaningUp   | the requests are gone        | the first step      |
| the target was deleted or marked       | Remediating  | it is gone; the mark is off  | Ended; a new step   |
| a request exists, a step was tried     | Remediating, | `health.runbook.remediating` | the next step       |
|                                        | Exhausted    |                              |                     |
| otherwise, and before each next step   | Held,        | `health.runbook.new_step`    | Acting              |
|                                        | Waiting      |                              |                     |
| no other row                           | Acting       | the result of the act        | Remediating, Held   |
| - evidence is chosen, and not tried    | Acting       | that it is saved, or is not  | the act             |

A recovery leads to the first rows from any phase, unless it must be proven and is not: then its target counts
as unhealthy (`health.runbook.proven_recovery`). Orders of people add up: each expires by its own time, and
`resume` ends them all.

If a remediator expects the deletion of its Node, the request is kept until the remediator reports success or
the check selects a Node of that name again (NHC 2.1/12). The new Node has another uid and an incident of its
own (rule 11). The old Node did not recover, so no healthyDelay runs (NHC 2.6), and the old requests do not
remediate the new Node.

Finalizers may keep a deleted Machine for an hour; the conditions of its Node change nothing meanwhile. A mark
is for another controller, which removes it in the end. Until the detector sees the mark the target is not
marked again, because a late observation would cause a loop. A request is kept while its target is neither
unhealthy nor healthy: a Machine without a Node, or one being deleted (MHC A.2.6).

Clean-up: each object is deleted separately, so a finalizer or a failure blocks no other object. While a
request exists its remediator may be working, so the Lease of the target stays until it expires; it is not
renewed once the remediation is over (NHC 2.6). A clean-up is repeated when the detector sees other requests
than before, each minute while a finalizer keeps a request, and by its back-off after a failure.
"""

from datetime import datetime

from health.model.chore_subject import ChoreSubject
from health.model.details import Details
from health.model.moves import (
    REQUESTS_ARE_GONE,
    End,
    Move,
    NextTransition,
    Outcome,
    Phase,
    RecordStep,
    RemoveRequests,
    RenewLease,
    SaveEvidence,
    TakeStep,
    Until,
    Wait,
)
from health.model.observation import ENDED, Observation, TargetState
from health.model.order import OrderRecord
from health.model.references import Action
from health.runbook import shadow
from health.runbook.chores import Chore, still_ahead
from health.runbook.disruption import SEEN_AFTER
from health.runbook.healthy_delay import delaying
from health.runbook.memory import Memory
from health.runbook.new_step import new_step
from health.runbook.proven_recovery import with_proof
from health.runbook.remediating import remediating
from health.runbook.waiting import BY_RESUME, chore, hold_ends, not_before_resume, wait

REMEDIATOR_IS_DONE = NextTransition(what="when its remediator is done")


def next_move(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident that sees `seen` and remembers `memory`.

    No wait is longer than until the next try of a failed chore.
    """
    seen = with_proof(seen, memory)
    move = _in_shadow(seen, memory, now) if memory.is_shadow else _by_row(seen, memory, now)
    if isinstance(move, TakeStep | RecordStep) and seen.evidence is not None and memory.evidence is None:
        return SaveEvidence(move, move.details)
    if not isinstance(move, Wait):
        return move
    return move.or_until(*(Until(note.next_try) for note in still_ahead(memory.notes, now)))


def _in_shadow(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The move as if the recorded steps were taken: after a deletion or a mark it only waits."""
    move = _by_row(shadow.as_if(seen, memory), memory, now)
    if isinstance(move, RecordStep) and shadow.is_over(seen.steps[move.step], memory.shadow):
        move = wait(Phase.REMEDIATING, seen.details(), now, otherwise=REMEDIATOR_IS_DONE)
    return shadow.in_shadow(move, seen, memory, now)


def _by_row(seen: Observation, memory: Memory, now: datetime) -> Move:
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
    return new_step(0, seen, memory, now)


def closing(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident whose target needs no remediation any more."""
    if not memory.left_alone and (move := _await_the_end(seen, memory, now)):
        return move
    if memory.owns_something or seen.requests or seen.is_confirmed:
        return cleaning(seen, memory, now, seen.details())
    return End(_outcome(seen.state, memory), seen.details())


def _await_the_end(seen: Observation, memory: Memory, now: datetime) -> Move | None:
    if is_in_between(seen, memory):
        return disrupted(seen, memory, now)
    if move := delaying(seen, memory, now):
        return move
    if not _is_end_of_node_expected(seen):
        return None
    details = seen.details("its remediator expects that, and is not done yet")
    return wait(Phase.REMEDIATING, details, now, otherwise=REMEDIATOR_IS_DONE)


def is_in_between(seen: Observation, memory: Memory) -> bool:
    """True for a target that is no longer unhealthy and does not count as healthy yet."""
    return seen.state is TargetState.HEALTHY and (
        memory.disruption.has_deleted or bool(seen.requests and not seen.counts_as_healthy)
    )


def _is_end_of_node_expected(seen: Observation) -> bool:
    if seen.state is not TargetState.GONE or seen.is_replaced:
        return False
    return any(one.is_node_deletion_expected and not one.succeeded for one in seen.requests)


def _outcome(state: TargetState, memory: Memory) -> Outcome:
    if state is TargetState.GONE:
        # The controller that our mark addressed may have replaced it.
        did = memory.disruption
        is_ours = did.has_deleted or did.marked_at is not None or (memory.has_acted and memory.is_marked)
        return Outcome.REMEDIATED if is_ours else Outcome.GONE
    if state is TargetState.RELEASED:
        return Outcome.RELEASED
    return Outcome.REMEDIATED if memory.has_acted and not memory.left_alone else Outcome.RECOVERED


def _leave_alone(order: OrderRecord, seen: Observation, memory: Memory, now: datetime) -> Move:
    why = f"left alone: {order.reason}"
    if memory.owns_something or seen.requests:
        return cleaning(seen, memory, now, Details(order=why))
    ends = Until(order.until, "the abort ends") if order.until else None
    details = seen.details(order=why)
    return Wait(Phase.LEFT_ALONE, details, otherwise=BY_RESUME).or_until(ends)


def _start_over(seen: Observation, memory: Memory, now: datetime) -> Move:
    details = seen.details(order="starts over by order", held=memory.hold_reason)
    move = cleaning(seen, memory, now, details)
    if not isinstance(move, Wait) or memory.held is None:
        return move
    return move.or_until(chore(memory.held.until))


def is_disrupted(seen: Observation, memory: Memory) -> bool:
    """True if a deletion or mark is in progress, so that the incident only waits."""
    return memory.disruption.has_deleted or bool(seen.under_way) or _is_mark_unseen(seen, memory)


def _is_mark_unseen(seen: Observation, memory: Memory) -> bool:
    is_marking = any(step.action is Action.MARK for step in seen.steps)
    return memory.disruption.marked_at is not None and is_marking and not seen.under_way


def disrupted(seen: Observation, memory: Memory, now: datetime) -> Move:
    """Wait until the deletion or mark has completed, and renew the Lease meanwhile."""
    waiting = _wait_for_disruption(seen, memory, now)
    if not memory.lease.may_be_held:
        return waiting
    if memory.lease.is_due(now):
        return RenewLease(waiting.phase, waiting.details, waiting.next_transition)
    return waiting.or_until(chore(memory.lease.renew_at))


def _wait_for_disruption(seen: Observation, memory: Memory, now: datetime) -> Wait:
    details = seen.details(_why(seen, memory))
    marked_at = memory.disruption.marked_at if _is_mark_unseen(seen, memory) else None
    unseen = Until(marked_at + SEEN_AFTER) if marked_at else None
    if seen.state in ENDED:
        return wait(Phase.REMEDIATING, details, now, unseen, otherwise=REMEDIATOR_IS_DONE)
    return not_before_resume(wait(Phase.REMEDIATING, details, now, unseen, hold_ends(memory)), memory)


def _why(seen: Observation, memory: Memory) -> str:
    if seen.under_way:
        return seen.under_way
    if memory.disruption.has_deleted:
        return "it was deleted, and is not gone yet"
    if _is_mark_unseen(seen, memory):
        return "it was marked, and the mark is not visible yet"
    return "but it does not count as healthy yet"


def cleaning(seen: Observation, memory: Memory, now: datetime, details: Details) -> RemoveRequests | Wait:
    """Clean up now, or wait for the next try."""
    if _is_due(seen, memory, now):
        return RemoveRequests(details)
    has_failed = any(note.chore is Chore.CLEAN_UP for note in memory.notes)
    what = "the failed clean-up is tried again" if has_failed else ""
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
    hanging = [str(one) for one in memory.requests if ChoreSubject.of_request(one.uid) not in failed]
    return f"{', '.join(hanging)} hangs on a finalizer" if hanging else ""
