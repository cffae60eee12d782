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
from health.model.moves import (
    GiveBack,
    MarkRequests,
    Move,
    Phase,
    RenewLease,
    RequestMark,
    TakeStep,
    Wait,
    subject_of_mark,
)
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import Action
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import OF_LEASE, Chore
from health.runbook.escalation import Course, Plan
from health.runbook.marks import old, seconds_until_old, timed_out, unhealthy
from health.runbook.memory import Memory
from health.runbook.waiting import hold, rest, seconds_until, seconds_until_after
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
        if not self._can_tell:
            return self._keep_lease() or self._in_time(self._blind())
        return self._marks() or self._give_back() or self._keep_lease() or self._go_on()

    def _blind(self) -> Wait:
        """What the detector cannot tell is no reason to disturb a remediator."""
        held = seconds_until(self.memory.held_until, self.now) if self.memory.held else None
        if not self.seen.requests:
            return Wait(Phase.HELD, self._details, held) if self.memory.held else hold(self.seen)
        if self.seen.hold is None:
            return rest(Phase.REMEDIATING, self._details, held)
        details = f"{self._details}; {self.seen.hold}"
        return rest(Phase.REMEDIATING, details, self.seen.hold.ask_again_seconds, held)

    def _go_on(self) -> Move:
        if self._course.running is not None:
            until = seconds_until_after(self._course.until, self.now)
            held = self.memory.held_until if self.memory.held else None
            return self._in_time(rest(self._phase, self._details, until, seconds_until(held, self.now)))
        if self._course.next_step is None:
            return self._in_time(Wait(Phase.EXHAUSTED, f"{self._details}; no template left to try"))
        if self.memory.held:
            waits = seconds_until(self.memory.held_until, self.now)
            return self._in_time(Wait(Phase.HELD, self._details, waits))
        if self.seen.state is TargetState.WAITING:
            return self._in_time(Wait(Phase.WAITING, self._details, self.seen.remaining_seconds))
        stop = stop_awaited_until(self._course.over, self.memory)
        if stop is not None and self.now < stop:
            return self._in_time(self._await_stop(stop))
        move = new_step(self._course.next_step, self.seen, self.memory, self.now)
        return self._in_time(move) if isinstance(move, Wait) else move

    def _await_stop(self, until: datetime) -> Wait:
        words = f"the next step waits until {stamp(until)} for the one before to be told to stop"
        return rest(Phase.HELD, f"{self._details}; {words}", seconds_until(until, self.now))

    def _marks(self) -> Move | None:
        due = (mark for one in self.seen.requests for mark in self._marks_of(one) if mark is not None)
        marks = tuple(mark for mark in due if not self.memory.is_put_off(mark, self.now))
        return MarkRequests(marks, self._phase, self._details) if marks else None

    def _marks_of(self, request: RequestSnapshot) -> tuple[RequestMark | None, ...]:
        is_over = self._is_overdue or self._plan.is_over(request, self.now)
        return (
            timed_out(request, self.now) if is_over and self._is_unhealthy else None,
            unhealthy(request),
            old(request, self.now),
        )

    def _give_back(self) -> Move | None:
        if not self._is_overdue or not self.memory.may_hold_lease or self._is_give_back_put_off:
            return None
        if self._awaits_stop:
            return None  # its remediator was not told to stop: nobody else may have the target yet
        return GiveBack(self._phase, f"{self._details}; overdue")

    def _keep_lease(self) -> Move | None:
        if not self._keeps_lease:
            return None
        if self.memory.renew_at is None or self.now >= self.memory.renew_at:
            return RenewLease(self._phase, self._details)
        return None

    def _in_time(self, rest_: Wait) -> Wait:
        """Wait, but not longer than until the next chore."""
        renewal = seconds_until(self.memory.renew_at, self.now) if self._keeps_lease else None
        may_give_back = self.memory.may_hold_lease and not self._is_give_back_put_off
        overdue = seconds_until_after(self._overdue_at, self.now) if may_give_back else None
        if self._awaits_stop and self._is_overdue:
            overdue = seconds_until(self._stop_awaited_until, self.now)
        timer = self.seen.remaining_seconds if self.seen.state is TargetState.WAITING else None
        return rest(rest_.phase, rest_.details, rest_.seconds, renewal, overdue, timer, *self._grow_old())

    def _grow_old(self) -> list[float | None]:
        return [seconds_until_old(one, self.now) for one in self.seen.requests if self._can_tell]

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
        if not self.seen.requests or not self._is_unhealthy:
            return None
        latest = self._plan.latest(self.seen.requests)
        duration = timedelta(seconds=self.memory.lease_seconds)
        acquired, made_under = self.memory.lease_acquired_at, self.memory.made_under
        return overdue_at(self._plan, latest, acquired, duration, made_under=made_under)

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
    def _details(self) -> str:
        parts = [self.seen.reason, ", ".join(map(str, self.seen.requests)), self.memory.hold_in_words]
        return "; ".join(part for part in parts if part)


NOTHING_TO_ACT_ON = "the answer of the detector names no step, or no fact to act on"
"""Our detector answers no such thing; what anybody starts by hand carries whatever was written."""
ASK_AGAIN_SECONDS = 60.0


def new_step(number: int, seen: Observation, memory: Memory, now: datetime) -> TakeStep | Wait:
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
    return TakeStep(number, seen.reason)


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
