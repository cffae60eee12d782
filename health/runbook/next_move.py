"""NextMove: what an incident does next, as a pure function of what it sees and what it remembers.

This is the runbook. It is asked again after every move and every observation, so it holds from any state:
after a restart, an edit of the check, a recovery in the middle, an abort. The first row that fits wins:

| what is so                             | phase        | it waits for                 | what follows        |
|----------------------------------------|--------------|------------------------------|---------------------|
| healthy, gone or released: `closing`   |              |                              |                     |
| - deleted by the incident, and not     | Remediating  | the target is gone           | CleaningUp          |
|   gone; or not as it ought to be yet   |              |                              |                     |
| - a healthyDelay runs, or a proof      | HealthyDelay | its end, a confirmation      | CleaningUp          |
| - its end is expected by a remediator  | Remediating  | the remediator               | CleaningUp          |
| - something of the incident is left    | CleaningUp   | the requests are gone        | Ended               |
| - nothing is left                      | Ended        |                              |                     |
| in shadow (`health.runbook.shadow`)    | as it would  | as it would                  | recorded, not done  |
| left alone by a person                 | CleaningUp,  | recovery, `resume`, the end  | Ended, or any other |
|                                        | LeftAlone    | of the abort                 |                     |
| told to start over                     | CleaningUp   | the requests are gone        | the first step      |
| the target was deleted or marked       | Remediating  | it is gone; the mark is off  | Ended; a new step   |
| a request exists, a step was tried     | Remediating, | `health.runbook.remediating` | the next step       |
|                                        | Exhausted    |                              |                     |
| else, and before each further step     | Held,        | `health.runbook.new_step`    | Acting              |
|                                        | Waiting      |                              |                     |
| nothing of all this                    | Acting       | the result of the act        | Remediating, Held   |
| - evidence is chosen, and not tried    | Acting       | that it is saved, or is not  | the act             |

A recovery leads to the first rows from any phase, unless it is to be proven, and is not: then its target is
as unhealthy as before (`health.runbook.proven_recovery`). Orders of people add up: each ends when its own
time is over, and `resume` ends them all.

A node whose end its remediator expects keeps its request until that reports success, or the check
selects a node of that name again (NHC 2.1/12). That one has another uid, and an incident of its own
(rule 11): the first neither recovered, so that a healthyDelay would run (NHC 2.6), nor is the second
remediated by these requests.

A Machine that was deleted may hang on finalizers for an hour; what its Node says meanwhile changes nothing. A
mark is for another controller, which takes it off in the end; until the detector sees it nothing is marked
again, or a late observation would make a loop of that. A request is kept while its target is neither
unhealthy nor healthy, as a Machine is that has no Node, or that is going (MHC A.2.6).

Clean-up: each object is deleted by itself: what hangs on a finalizer or fails keeps nothing else. While a
request is there its remediator may be at work, so the Lease of the target stays until it runs out; it is not
renewed for a target that nobody remediates any more (NHC 2.6). What remains is tried again when the detector
sees other requests than before, each minute where a finalizer keeps it, and by its back-off where it failed.
"""

from datetime import datetime

from health.model.chore_subject import ChoreSubject
from health.model.details import Details
from health.model.incident_result import OrderRecord
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

    No wait is longer than until a chore that failed is tried again.
    """
    seen = with_proof(seen, memory)
    move = _in_shadow(seen, memory, now) if memory.is_shadow else _by_row(seen, memory, now)
    if isinstance(move, TakeStep | RecordStep) and seen.evidence is not None and memory.evidence is None:
        return SaveEvidence(move, move.details)
    if not isinstance(move, Wait):
        return move
    return move.or_until(*(Until(note.next_try) for note in still_ahead(memory.notes, now)))


def _in_shadow(seen: Observation, memory: Memory, now: datetime) -> Move:
    """As if the recorded steps were taken: after a deletion or a mark there is but to wait."""
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
    """The next move of an incident with nothing to remediate any more."""
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
    """Whether a target that is not unhealthy is not yet as it ought to be."""
    return seen.state is TargetState.HEALTHY and (
        memory.disruption.has_deleted or bool(seen.requests and not seen.counts_as_healthy)
    )


def _is_end_of_node_expected(seen: Observation) -> bool:
    if seen.state is not TargetState.GONE or seen.is_replaced:
        return False
    return any(one.is_node_deletion_expected and not one.succeeded for one in seen.requests)


def _outcome(state: TargetState, memory: Memory) -> Outcome:
    if state is TargetState.GONE:
        # Whoever was asked by our mark to remediate it may have replaced it.
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
    """Whether nothing is left to do to the target but to wait."""
    return memory.disruption.has_deleted or bool(seen.under_way) or _is_mark_unseen(seen, memory)


def _is_mark_unseen(seen: Observation, memory: Memory) -> bool:
    is_marking = any(step.action is Action.MARK for step in seen.steps)
    return memory.disruption.marked_at is not None and is_marking and not seen.under_way


def disrupted(seen: Observation, memory: Memory, now: datetime) -> Move:
    """Wait, and keep the Lease meanwhile."""
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
    hanging = [str(one) for one in memory.requests if ChoreSubject.of_request(one.uid) not in failed]
    return f"{', '.join(hanging)} hangs on a finalizer" if hanging else ""
