"""Remediating: what an incident does while it has requests, or has tried steps. Pure.

Chores come first, during any hold (rule 7): ask the remediator of a request that is over to stop, release the
Lease when the remediation is overdue, otherwise renew it. While only a timer runs nothing escalates: no
remediator is asked to stop, and only the Lease is renewed (NHC 2.1/13). Then the first row that matches:

| state                                   | phase       | it waits for               | what follows          |
|-----------------------------------------|-------------|----------------------------|-----------------------|
| the state is unknown, a request exists  | Remediating | another answer             | another row           |
| a request runs                          | Remediating | its timeout, its remediator| the next step, if any |
| no template is left                     | Exhausted   | `resume`, recovery         | the first step        |
| otherwise                               | `health.runbook.new_step` |              | the next step         |

A request of an overdue remediation (`health.runbook.lease_memory`) is annotated as timed out and stays until
the target is healthy. Another check may act on the target only after the Lease is released.
"""

from dataclasses import dataclass
from datetime import datetime

from health.model.chore_subject import OF_LEASE, ChoreSubject
from health.model.details import Details
from health.model.moves import (
    BY_A_CHANGE,
    AnnotateRequests,
    AnnotationPatch,
    Move,
    NextTransition,
    Phase,
    ReleaseLease,
    RenewLease,
    Until,
    Wait,
)
from health.model.observation import Observation, TargetState
from health.model.request_snapshot import RequestSnapshot
from health.runbook.annotations import adopted, grows_old_at, old, timed_out, unhealthy
from health.runbook.chores import Chore, is_put_off
from health.runbook.escalation import Course, Plan
from health.runbook.memory import Memory
from health.runbook.new_step import new_step, stop_awaited_until
from health.runbook.proven_recovery import with_proof
from health.runbook.waiting import (
    BY_RESUME,
    asks_again,
    chore,
    deadline,
    followed,
    hold_ends,
    named,
    not_before_resume,
    safety_net,
    status,
    step_at,
    wait,
)
from objects.durations import JUST_AFTER

NO_TEMPLATE_LEFT = "no template is left to try"


def remediating(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident in the middle of a remediation."""
    return _Remediation(seen, memory, now).move()


def becomes_overdue_at(seen: Observation, memory: Memory) -> datetime | None:
    """When the remediation is overdue; None: none runs for an unhealthy target."""
    if not seen.requests or with_proof(seen, memory).state is not TargetState.EXPIRED:
        return None
    plan = Plan(seen.steps, memory.spent)
    return memory.lease.overdue_at(plan, plan.latest(seen.requests))


@dataclass(frozen=True)
class _Remediation:
    seen: Observation
    memory: Memory
    now: datetime

    def move(self) -> Move:
        move = self._by_row()
        if not isinstance(move, Wait):
            return self._chore(BY_A_CHANGE) or move
        waiting = self._in_time(move)
        return self._chore(waiting.next_transition) or waiting

    def _by_row(self) -> Move:
        if not self._can_tell and self.seen.requests:
            return self._undisturbed()
        if self._can_tell and self._course.running is not None:
            return Wait(Phase.REMEDIATING, self._details).or_until(self._timeout, hold_ends(self.memory))
        if self._can_tell and self._course.next_step is None:
            otherwise = NextTransition(what=f"{BY_RESUME.what}: {NO_TEMPLATE_LEFT}")
            details = self._details.and_also("no template left to try")
            return Wait(Phase.EXHAUSTED, details, otherwise=otherwise)
        return new_step(self._course.next_step or 0, self.seen, self.memory, self.now, self._course.over)

    def _undisturbed(self) -> Wait:
        """Wait without disturbing the remediator, because the state of the target is unknown."""
        details = self._details.and_also(str(self.seen.hold or ""))
        ends = asks_again(self.seen, self.now), hold_ends(self.memory)
        return wait(Phase.REMEDIATING, details, self.now, *ends)

    @property
    def _timeout(self) -> Until | None:
        """The timeout of the running step, and what follows."""
        running, at = self._course.running, self._course.until
        if running is None or at is None:
            return None
        step = self._plan.step_of(running.reference)
        what = f"the step {named(step)} times out" if step else "its step times out"
        return Until(at, f"{what}{self._after(at)}", is_passed=True)

    def _after(self, end: datetime) -> str:
        step = step_at(end + JUST_AFTER, self.seen, self.memory)
        if step is None:
            return f", and {NO_TEMPLATE_LEFT}"
        return f"{followed(step)}{' once the hold ends' if self.memory.held else ''}"

    def _chore(self, then: NextTransition) -> Move | None:
        """The first chore that is due; `then` is what the incident waits for meanwhile."""
        if not self._can_tell:
            return self._renew(then)
        return self._annotate(then) or self._release(then) or self._renew(then)

    def _annotate(self, then: NextTransition) -> Move | None:
        due = (patch for one in self.seen.requests for patch in self._patches_of(one) if patch is not None)
        patches = tuple(one for one in due if not self._is_put_off(Chore.ANNOTATE, one.subject))
        return AnnotateRequests(patches, self._phase, self._details, then) if patches else None

    def _patches_of(self, request: RequestSnapshot) -> tuple[AnnotationPatch | None, ...]:
        is_over = self._is_overdue or self._plan.is_over(request, self.now)
        is_unhealthy = self.seen.state is TargetState.EXPIRED
        stop = timed_out(request, self.now) if is_over and is_unhealthy else None
        return adopted(request), stop, unhealthy(request), old(request, self.now)

    def _release(self, then: NextTransition) -> Move | None:
        if not self._is_overdue or not self._may_release:
            return None
        stop = self._stop_awaited_until
        if stop is not None and self.now < stop:
            return None  # its remediator was not asked to stop, so no other holder may get the target yet
        return ReleaseLease(self._phase, self._details.and_also("overdue"), then)

    def _renew(self, then: NextTransition) -> Move | None:
        if not self._keeps_lease or not self.memory.lease.is_due(self.now):
            return None
        return RenewLease(self._phase, self._details, then)

    def _in_time(self, waiting: Wait) -> Wait:
        """Wait, but not longer than until the next chore or deadline."""
        renewal = chore(self.memory.lease.renew_at) if self._keeps_lease else None
        ages = [chore(grows_old_at(one, self.now)) for one in self.seen.requests if self._can_tell]
        whole = waiting.or_until(safety_net(self.now), renewal, *ages)
        ends = (self._overdue, deadline(self.seen, self.now))
        if waiting.phase is not Phase.REMEDIATING:
            return whole.or_until(*(end and end.hidden for end in ends))
        return not_before_resume(whole.or_until(*ends), self.memory)

    @property
    def _overdue(self) -> Until | None:
        """When the Lease is released because the remediation is overdue."""
        at, stop = self._overdue_at, self._stop_awaited_until
        if at is None or not self._may_release:
            return None
        what = "the remediation is overdue, and its Lease is given back"
        if stop is not None and at < self.now < stop:
            return Until(stop, what)
        return Until(at, what, is_passed=True)

    @property
    def _may_release(self) -> bool:
        return self.memory.lease.may_be_held and not self._is_put_off(Chore.CLEAN_UP, OF_LEASE)

    @property
    def _keeps_lease(self) -> bool:
        is_over = self._can_tell and self._course.is_exhausted
        is_held = bool(self.seen.requests) and self.memory.lease.may_be_held
        return is_held and not is_over and not self._is_overdue

    @property
    def _stop_awaited_until(self) -> datetime | None:
        return stop_awaited_until(self.seen.requests, self.memory)

    @property
    def _overdue_at(self) -> datetime | None:
        return becomes_overdue_at(self.seen, self.memory)

    @property
    def _is_overdue(self) -> bool:
        return self._overdue_at is not None and self.now > self._overdue_at

    def _is_put_off(self, chore: Chore, subject: ChoreSubject) -> bool:
        return is_put_off(self.memory.notes, chore, subject, self.now)

    @property
    def _can_tell(self) -> bool:
        return self.seen.state is not TargetState.UNKNOWN

    @property
    def _plan(self) -> Plan:
        return Plan(self.seen.steps, self.memory.spent)

    @property
    def _course(self) -> Course:
        return self._plan.course(self.seen.requests, self.now)

    @property
    def _phase(self) -> Phase:
        if not self._can_tell or self._course.running is not None:
            return Phase.REMEDIATING
        return Phase.EXHAUSTED if self._course.next_step is None else Phase.HELD

    @property
    def _details(self) -> Details:
        return status(self.seen, self.memory)
