"""Remediating: what an incident does while requests of it exist, or steps of it were tried. Pure.

1. Chores, whatever else holds the incident (rule 7): tell the remediator of a request that is over to stop,
   give the Lease back when the remediation is overdue, else keep it. While only a timer runs nothing
   escalates: nothing is told to stop, and only the Lease is kept (NHC 2.1/13).
2. A request that runs is given its time.
3. When that is over the next step is a new act, which must be admitted as the first one was. It waits for the
   earlier remediator, who may be at work until it was told to stop: visibly, and for a minute at most, since
   an annotation that is refused for good (a webhook that is dead, a right that is missing) must not keep a
   target from being remediated.
4. Without a template left the incident waits for `resume`.

Overdue (NHC 2.5, rule 13) is a remediation after three times the duration that the Lease is taken for, and
the timeouts of the steps before, counted from when the Lease was acquired. Then the request is marked as
timed out; it stays until the target is healthy, and only now may another check go on. A request that the
incident made has three durations of its own under the Lease that it was made under: it does not pay for one
that somebody deleted (rule 9), nor for an old Lease of ours. One that it found, and one whose Lease says
another time by now, counts by the Lease alone.

A request or mark that somebody removed while its target is unhealthy counts as an attempt (rule 14): the next
one waits, as if the incident had ended with it; a person's `resume` skips that. What the incident deleted
itself, or the detector knows as an earlier remediation, is no loss (`Memory.settled`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.gate.back_off import after_a_loss, delay
from health.model.details import Details
from health.model.moves import (
    A_HAIR,
    BY_A_CHANGE,
    GiveBack,
    MarkRequests,
    Move,
    NextTransition,
    Phase,
    RenewLease,
    RequestMark,
    TakeStep,
    Until,
    Wait,
    subject_of_mark,
)
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import Action
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import OF_LEASE, Chore
from health.runbook.escalation import Course, Plan
from health.runbook.marks import grows_old_at, old, timed_out, unhealthy
from health.runbook.memory import Memory
from health.runbook.waiting import (
    ASKS_AGAIN,
    BY_RESUME,
    NO_TEMPLATE_LEFT,
    asks_again,
    chore,
    deadline,
    followed,
    hold_ends,
    named,
    next_step,
    not_before_resume,
    safety_net,
    wait,
    wait_for_deadline,
    wait_for_detector,
    wait_for_resume,
)
from objects.timestamps import stamp


def remediating(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident in the middle of a remediation."""
    return _Remediation(seen, memory, now).move()


@dataclass(frozen=True)
class _Remediation:
    seen: Observation
    memory: Memory
    now: datetime

    def move(self) -> Move:
        move = self._go_on() if self._can_tell else self._blind()
        if not isinstance(move, Wait):
            return self._chores(BY_A_CHANGE) or move
        waiting = self._in_time(move)
        return self._chores(waiting.next_transition) or waiting

    def _chores(self, then: NextTransition) -> Move | None:
        if not self._can_tell:
            return self._keep_lease(then)
        return self._marks(then) or self._give_back(then) or self._keep_lease(then)

    def _blind(self) -> Wait:
        """What the detector cannot tell is no reason to disturb a remediator."""
        if self.seen.requests:
            details = self._details.and_also(str(self.seen.hold or ""))
            ends = asks_again(self.seen, self.now), hold_ends(self.memory)
            return wait(Phase.REMEDIATING, details, self.now, *ends)
        if self.memory.held:
            return wait_for_resume(self._details, self.memory)
        return wait_for_detector(self.seen, self.now)

    def _go_on(self) -> Move:
        if self._course.running is not None:
            return Wait(self._phase, self._details).or_until(self._timeout, hold_ends(self.memory))
        if self._course.next_step is None:
            otherwise = NextTransition(what=f"{BY_RESUME.what}: {NO_TEMPLATE_LEFT}")
            details = self._details.and_also("no template left to try")
            return Wait(Phase.EXHAUSTED, details, otherwise=otherwise)
        if self.memory.held:
            return wait_for_resume(self._details, self.memory)
        if self.seen.state is TargetState.WAITING:
            return wait_for_deadline(self._details, self.seen, self.memory, self.now)
        stop = stop_awaited_until(self._course.over, self.memory)
        if stop is not None and self.now < stop:
            return self._await_stop(stop)
        return new_step(self._course.next_step, self.seen, self.memory, self.now)

    @property
    def _timeout(self) -> Until | None:
        """When the step that runs times out, and what follows."""
        running, at = self._course.running, self._course.until
        if running is None or at is None:
            return None
        step = self._plan.step_of(running.reference)
        what = f"the step {named(step)} times out" if step else "its step times out"
        return Until(at, f"{what}{self._after(at)}", is_passed=True)

    def _after(self, end: datetime) -> str:
        step = next_step(self.seen, self.memory, end + A_HAIR)
        if step is None:
            return f", and {NO_TEMPLATE_LEFT}"
        return f"{followed(step)}{' once the hold ends' if self.memory.held else ''}"

    def _await_stop(self, until: datetime) -> Wait:
        words = f"the next step waits until {stamp(until)} for the one before to be told to stop"
        step = next_step(self.seen, self.memory, self.now)
        what = f"it waits no longer for the step before to be told to stop{followed(step)}"
        return wait(Phase.HELD, self._details.and_also(words), self.now, Until(until, what))

    def _marks(self, then: NextTransition) -> Move | None:
        due = (mark for one in self.seen.requests for mark in self._marks_of(one) if mark is not None)
        marks = tuple(mark for mark in due if not self.memory.is_put_off(mark, self.now))
        return MarkRequests(marks, self._phase, self._details, then) if marks else None

    def _marks_of(self, request: RequestSnapshot) -> tuple[RequestMark | None, ...]:
        is_over = self._is_overdue or self._plan.is_over(request, self.now)
        return (
            timed_out(request, self.now) if is_over and self._is_unhealthy else None,
            unhealthy(request),
            old(request, self.now),
        )

    def _give_back(self, then: NextTransition) -> Move | None:
        if not self._is_overdue or not self.memory.may_hold_lease or self._is_give_back_put_off:
            return None
        if self._awaits_stop:
            return None  # its remediator was not told to stop: nobody else may have the target yet
        return GiveBack(self._phase, self._details.and_also("overdue"), then)

    def _keep_lease(self, then: NextTransition) -> Move | None:
        if not self._keeps_lease:
            return None
        if self.memory.renew_at is None or self.now >= self.memory.renew_at:
            return RenewLease(self._phase, self._details, then)
        return None

    def _in_time(self, waiting: Wait) -> Wait:
        """Wait, but not longer than until the next chore, or until a timer says more."""
        renewal = chore(self.memory.renew_at) if self._keeps_lease else None
        ages = [chore(grows_old_at(one, self.now)) for one in self.seen.requests if self._can_tell]
        whole = waiting.or_until(safety_net(self.now), renewal, *ages)
        ends = (self._overdue, deadline(self.seen, self.now))
        if waiting.phase is not Phase.REMEDIATING:
            return whole.or_until(*(end and end.untold for end in ends))
        return not_before_resume(whole.or_until(*ends), self.memory)

    @property
    def _overdue(self) -> Until | None:
        """When the Lease is given back."""
        at, stop = self._overdue_at, self._stop_awaited_until
        if at is None or not self.memory.may_hold_lease or self._is_give_back_put_off:
            return None
        what = "the remediation is overdue, and its Lease is given back"
        if stop is not None and at < self.now < stop:
            return Until(stop, what)
        return Until(at, what, is_passed=True)

    @property
    def _stop_awaited_until(self) -> datetime | None:
        return stop_awaited_until(self.seen.requests, self.memory)

    @property
    def _awaits_stop(self) -> bool:
        return self._stop_awaited_until is not None and self.now < self._stop_awaited_until

    @property
    def _is_give_back_put_off(self) -> bool:
        return self.memory.note_of(Chore.CLEAN_UP, OF_LEASE, self.now) is not None

    @property
    def _keeps_lease(self) -> bool:
        is_over = self._can_tell and self._course.is_exhausted
        return bool(self.seen.requests) and self.memory.may_hold_lease and not (is_over or self._is_overdue)

    @property
    def _can_tell(self) -> bool:
        return self.seen.state is not TargetState.UNKNOWN

    @property
    def _is_unhealthy(self) -> bool:
        return self.seen.state is TargetState.EXPIRED

    @property
    def _plan(self) -> Plan:
        return Plan(self.seen.steps, self.memory.spent)

    @property
    def _course(self) -> Course:
        return self._plan.course(self.seen.requests, self.now)

    @property
    def _overdue_at(self) -> datetime | None:
        return becomes_overdue_at(self.seen, self.memory)

    @property
    def _is_overdue(self) -> bool:
        ends = self._overdue_at
        return ends is not None and self.now > ends

    @property
    def _phase(self) -> Phase:
        if not self._can_tell or self._course.running is not None:
            return Phase.REMEDIATING
        return Phase.EXHAUSTED if self._course.next_step is None else Phase.HELD

    @property
    def _details(self) -> Details:
        requests = ", ".join(map(str, self.seen.requests))
        return Details(reason=self.seen.reason, requests=requests, held=self.memory.hold_reason)


NOTHING_TO_ACT_ON = "the answer of the detector names no step, or no fact to act on"
"""Our detector answers no such thing; what anybody starts by hand carries whatever was written."""
ASK_AGAIN = timedelta(minutes=1)


def new_step(number: int, seen: Observation, memory: Memory, now: datetime) -> TakeStep | Wait:
    """Act, or why not yet."""
    if seen.hold is not None and not _is_skipped(seen, memory):
        return wait_for_detector(seen, now)
    if number >= len(seen.steps) or seen.fact is None:
        return _not_yet(NOTHING_TO_ACT_ON, seen, now, Until(now + ASK_AGAIN, ASKS_AGAIN))
    failing = memory.failing
    if failing is not None and failing.goes_on(seen) and now < failing.next_act:
        return _not_yet(failing.words, seen, now, Until(failing.next_act, "its next attempt to act is due"))
    due = due_after_a_loss(seen, memory)
    if due is not None and now < due:
        lost = "mark" if seen.steps[number].action is Action.MARK else "request"
        return _not_yet(after_a_loss(due, lost), seen, now, Until(due, ASKS_AGAIN))
    return TakeStep(number, Details(reason=seen.reason))


def _not_yet(why: str, seen: Observation, now: datetime, until: Until) -> Wait:
    return wait(Phase.HELD, Details(reason=seen.reason, more=(why,)), now, until)


def due_after_a_loss(seen: Observation, memory: Memory) -> datetime | None:
    """When the next request is due because somebody deleted the one before; None: it waits for no loss."""
    if memory.lost_at is None or memory.skips_back_off or not seen.back_off_limit_seconds:
        return None
    limit = timedelta(seconds=seen.back_off_limit_seconds)
    return memory.lost_at + delay(memory.attempts_before(seen), limit)


def _is_skipped(seen: Observation, memory: Memory) -> bool:
    return memory.skips_back_off and seen.hold is not None and seen.hold.reason is HoldReason.BACK_OFF


STOP_PATIENCE = timedelta(minutes=1)
"""Counted from the first failure to tell it."""


def stop_awaited_until(over: Iterable[RequestSnapshot], memory: Memory) -> datetime | None:
    """Until when the next step waits for these requests, which are over; None: for none of them."""
    notes = {note.subject: note for note in memory.notes if note.chore is Chore.MARK}
    untold = (one for one in over if one.timed_out_at is None and not one.succeeded)
    stops = (subject_of_mark(one.uid, [TIMED_OUT]) for one in untold)
    return max((notes[stop].since + STOP_PATIENCE for stop in stops if stop in notes), default=None)


PATIENCE = 3


def becomes_overdue_at(seen: Observation, memory: Memory) -> datetime | None:
    """When the remediation is overdue; None where none runs for an unhealthy target."""
    if not seen.requests or seen.state is not TargetState.EXPIRED:
        return None
    plan, duration = Plan(seen.steps, memory.spent), timedelta(seconds=memory.lease_seconds)
    latest = plan.latest(seen.requests)
    return overdue_at(plan, latest, memory.lease_acquired_at, duration, made_under=memory.made_under)


def overdue_at(
    plan: Plan,
    latest: RequestSnapshot,
    acquired: datetime | None,
    duration: timedelta,
    *,
    made_under: datetime | None = None,
) -> datetime:
    """When the remediation whose latest request this is becomes overdue, with a Lease of `duration`.

    `made_under` is when the Lease was acquired under which the incident made that request. Where nobody knows
    since when the Lease is held, it counts from the creation of the request.
    """
    if acquired is None:
        return latest.created + PATIENCE * duration
    step = plan.step_of(latest.reference)
    began = acquired + (plan.time_before(step) if step else timedelta())
    if acquired == made_under:
        began = max(began, latest.created)
    return began + PATIENCE * duration
