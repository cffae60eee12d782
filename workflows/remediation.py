"""Remediation: the workflow of one incident, from the first matching condition until the target is clean.

The runbook is `health.runbook.next_move`; this carries its moves out. Rules of the file: it acts on nothing
but what it has just asked for; a call that changes the cluster is always finished; between the last look and
`return` nothing is awaited, so that no look is lost while an incident ends.
"""

import asyncio
import contextlib
from datetime import datetime, timedelta
from functools import partial

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from health.model.details import Details
    from health.model.incident_result import IncidentResult, ended
    from health.model.moves import (
        BY_A_CHANGE,
        End,
        GiveBack,
        MarkRequests,
        Move,
        Outcome,
        Phase,
        RemoveRequests,
        RenewLease,
        RequestMark,
        TakeStep,
        Until,
        Wait,
        next_transition_of,
        phase_of,
    )
    from health.model.observation import Observation, TargetState
    from health.model.request_snapshot import RequestSnapshot
    from health.runbook.learning import learned
    from health.runbook.memory import Memory
    from health.runbook.next_move import next_move
    from health.runbook.waiting import ASKS_AGAIN
    from workflows import chore_calls as chores
    from workflows.admitted_step import AdmittedStep, act
    from workflows.chore_calls import ChoreCall, Result
    from workflows.contracts import CLOCK_TOLERANCE, FRESH, ObserveInput, detector_queue
    from workflows.kit.calls import FinishedCalls, in_summary
    from workflows.kit.standing_orders import StandingOrders
    from workflows.messages import (
        ATTEMPT,
        ATTEMPT_ENDED,
        WAKE,
        WORKFLOW,
        AbortOrder,
        HoldOrder,
        RemediationInput,
        ResumeOrder,
        State,
        Wake,
    )
    from workflows.orders import Order, ordered
    from workflows.question import ask

SHORTEST_WAIT = timedelta(seconds=5)
SPREAD_FROM = timedelta(minutes=10)
"""A hold that lasts so long is asked about again a little early, so that a thousand don't ask at once."""
CANCELLED = AbortOrder(reason="cancelled in Temporal")
NOT_ASKED = Observation(state=TargetState.UNKNOWN, reason="no answer of the detector yet")


@workflow.defn(name=WORKFLOW)
class Remediation:
    """One incident."""

    @workflow.init
    def __init__(self, start: RemediationInput) -> None:
        self._incident, self._memory = start.incident, _memory_of(start)
        self._orders: StandingOrders[Order] = StandingOrders(self._write_down, when_cancelled=CANCELLED)
        self._calls = FinishedCalls(self._orders.obey_cancel)
        self._seen = _still_fresh(start.observation)
        """What is acted on; None when it must be asked for."""
        self._requests: tuple[RequestSnapshot, ...] = ()
        self._step_names: tuple[str, ...] = ()
        """The templates of the check; as the requests, as they were seen last."""
        self._start_seen_at = start.observation.seen_at if start.observation else None
        self._wakes = self._wakes_answered = 0
        self._phase, self._details, self._why = Phase.WAITING, "starting", Details()
        self._hold_told: str | None = None
        self._outcome: Outcome | None = None
        self._wakes_at: datetime | None = None
        self._next_transition = BY_A_CHANGE

    @workflow.run
    async def run(self, start: RemediationInput) -> IncidentResult:  # noqa: ARG002  `__init__` took it
        """Do what the runbook says until nothing is left to do."""
        while True:
            try:
                self._memory = self._memory.at(workflow.now())
                seen = await self._observe()
                move = next_move(seen, self._memory, workflow.now())
                self._tell(move)
                match move:
                    case Wait():
                        await self._rest(move)
                    case TakeStep(step=step):
                        await self._act(step, seen)
                    case MarkRequests(marks=marks):
                        await self._mark(marks)
                    case RenewLease():
                        await self._renew()
                    case GiveBack():
                        await self._give_back()
                    case RemoveRequests():
                        await self._clean_up(seen)
                    case End() if not self._is_woken():
                        return self._concluded(move)
            except asyncio.CancelledError:
                self._orders.obey_cancel()

    @workflow.update
    def abort(self, order: AbortOrder = AbortOrder()) -> str:
        """Clean up and leave the target alone."""
        self._orders.give(order)
        return f"cleans up and leaves {self._incident.target} alone: {order.reason}"

    @workflow.update
    def hold(self, order: HoldOrder = HoldOrder()) -> str:
        """Do nothing new, and keep what exists; an act that is under way is finished."""
        self._orders.give(order)
        return f"does nothing new for {self._incident.target} and keeps what exists: {order.reason}"

    @workflow.update
    def resume(self, order: ResumeOrder = ResumeOrder()) -> str:
        """Take care of the target again, at once; one that is exhausted begins its steps anew."""
        self._orders.give(order)
        return f"takes care of {self._incident.target} again: {order.reason}"

    @resume.validator
    def _refuse_unknown_step(self, order: ResumeOrder = ResumeOrder()) -> None:
        if order.step and self._step_names and order.step not in self._step_names:
            known = ", ".join(self._step_names)
            raise ValueError(f"step: no step uses the template {order.step!r}; the templates are {known}")

    @workflow.signal(name="abort")
    def abort_by_signal(self, order: AbortOrder = AbortOrder()) -> None:
        """As the update `abort`, without an answer."""
        self._orders.give(order)

    @workflow.signal(name="hold")
    def hold_by_signal(self, order: HoldOrder = HoldOrder()) -> None:
        """As the update `hold`, without an answer."""
        self._orders.give(order)

    @workflow.signal(name="resume")
    def resume_by_signal(self, order: ResumeOrder = ResumeOrder()) -> None:
        """As the update `resume`, without an answer."""
        self._orders.give(order)

    def _write_down(self, order: Order) -> None:
        self._memory = ordered(self._memory, order, workflow.now())

    @workflow.signal(name=WAKE)
    def wake(self, wake: Wake = Wake()) -> None:
        """Wake up and ask again; what comes with a start would tell what the start carries."""
        if wake.seen_at is None or wake.seen_at != self._start_seen_at:
            self._wakes += 1

    @workflow.query
    def state(self) -> State:
        """Where the incident is, in words."""
        return State(
            phase=self._phase,
            details=self._details,
            why=self._why,
            outcome=self._outcome,
            requests=self._requests,
            observation=self._seen,
            memory=self._memory,
            wakes_at=self._wakes_at,
            next_transition=self._next_transition if self._seen else None,
        )

    async def _observe(self) -> Observation:
        """What the detector sees; asked afresh unless the last answer is still to be acted on."""
        while self._seen is None or self._is_woken() or self._seen.is_outdated(workflow.now(), FRESH):
            is_told = self._wakes > self._wakes_answered and self._memory.clean_up_at is not None
            self._seen, self._wakes_answered = None, self._wakes
            self._orders.obey()
            if self._memory.left_alone and self._memory.owns_something and not is_told:
                return NOT_ASKED  # an abort cleans up at once, also where no detector answers
            self._seen = await self._ask()
            if self._seen is None:
                return NOT_ASKED
        seen = self._memory.complete(self._seen)
        self._memory = learned(self._memory, seen, workflow.now())
        self._requests = seen.requests
        self._step_names = tuple(step.template.name for step in seen.steps) or self._step_names
        return seen

    async def _act(self, number: int, seen: Observation) -> None:
        step = AdmittedStep(seen.steps[number], seen, self._memory, workflow.now())
        asked = step.asks(self._incident, workflow.info().original_execution_run_id)
        self._memory = step.memory_under_way
        result = await act(self._calls, asked, self._details)
        after = step.after(result, self._memory, workflow.now(), workflow.random().random())
        self._memory, self._seen = after.memory, after.seen
        if after.has_untold_finding:
            await self._tell_what_was_found()

    async def _tell_what_was_found(self) -> None:
        """Tell the detector at once what only the act saw, with a question; that holds all the same."""
        hold = self._seen and self._seen.hold
        self._seen = await self._ask()
        if self._seen is not None and self._seen.is_admitted:
            self._seen = self._seen.model_copy(update={"hold": hold})

    async def _mark(self, marks: tuple[RequestMark, ...]) -> None:
        result = await self._do(chores.marking(self._incident, marks))
        self._memory = chores.marked(self._memory, marks, result)

    async def _renew(self) -> None:
        result = await self._do(chores.renewal(self._incident, self._memory))
        self._memory = chores.renewed(self._memory, result, workflow.now())

    async def _give_back(self) -> None:
        result = await self._do(chores.giving_back(self._incident, self._memory))
        if not chores.left_behind(self._memory, (), result).has_lease:
            self._memory = self._memory.having_given_back()

    async def _clean_up(self, seen: Observation) -> None:
        known = self._memory.requests
        result = await self._do(chores.clean_up(self._incident, self._memory, seen))
        left = chores.left_behind(self._memory, known, result)
        self._memory = self._memory.having_cleaned_up(left, self._requests, workflow.now())
        if seen is NOT_ASKED:
            self._seen = None
        elif self._memory.clean_up_at is None:
            self._seen = seen.model_copy(update={"requests": (), "is_confirmed": False})

    async def _do(self, chore: ChoreCall[Result]) -> Result:
        """Have a chore done; what it could not do becomes a note, with a next try."""
        result = await chore.done(self._calls, self._details)
        self._memory = self._memory.having_tried(
            chore.chore, chore.tried.keys(), result.failures, workflow.now(), workflow.random().random()
        )
        return result

    async def _ask(self) -> Observation | None:
        """Ask the detector; None where an order of a person came before the answer."""
        if self._has_untold_order:
            self._tell(next_move(NOT_ASKED, self._memory, workflow.now()))  # an order shows without an answer
        workflow.set_current_details(f"{self._details}\n\nAsks the detector, queue {self._detector_queue}.")
        while True:
            asking = ask(self._question, longest=self._until_renewal, summary=self._details)
            try:
                await workflow.wait_condition(partial(self._may_go_on, asking))
                return asking.result() if asking.done() else None
            except ActivityError:
                await self._renew()  # no detector came for the question in time
                self._begin_a_new_run_if_due()
            finally:
                asking.cancel()

    @property
    def _question(self) -> ObserveInput:
        memory = self._memory
        backs_off = memory.failing is not None and workflow.now() < memory.failing.next_act
        would_act = not (memory.left_alone or memory.held or backs_off)
        return ObserveInput(incident=self._incident, found=memory.found, would_act=would_act)

    def _may_go_on(self, asking: workflow.ActivityHandle[Observation]) -> bool:
        return asking.done() or self._orders.has_new

    @property
    def _until_renewal(self) -> timedelta | None:
        """How long a question may wait for a detector, while a Lease is to be kept."""
        memory, renew_at = self._memory, self._memory.renew_at
        is_kept = memory.may_hold_lease and not memory.is_exhausted and memory.clean_up_at is None
        if not is_kept or renew_at is None:
            return None
        return max(SHORTEST_WAIT, renew_at - workflow.now())

    async def _rest(self, move: Wait) -> None:
        self._begin_a_new_run_if_due()
        self._memory = self._memory.resting(workflow.now())
        wait = self._spread(move)
        self._next_transition = wait.next_transition
        timeout = wait.requeue_after(workflow.now())
        self._wakes_at = None if timeout is None else workflow.now() + timeout
        words = f"{wait.phase}: {wait.details.hold_first}"
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(self._is_woken, timeout=timeout, timeout_summary=in_summary(words))
        self._seen = self._wakes_at = None

    def _begin_a_new_run_if_due(self) -> None:
        if workflow.info().is_continue_as_new_suggested():
            memory = self._memory.model_copy(update={"began": self._began})
            run_id = workflow.info().run_id
            workflow.continue_as_new(
                RemediationInput(incident=self._incident, memory=memory, continues=run_id)
            )

    def _is_woken(self) -> bool:
        return self._wakes > self._wakes_answered or self._orders.has_new

    def _spread(self, wait: Wait) -> Wait:
        timeout = wait.requeue_after(workflow.now())
        is_held = wait.phase is Phase.HELD and not self._memory.held
        if not is_held or timeout is None or timeout < SPREAD_FROM:
            return wait
        early = workflow.now() + timeout * workflow.random().uniform(0.9, 1.0)
        return wait.or_until(Until(early, ASKS_AGAIN))

    def _tell(self, move: Move) -> None:
        self._phase, self._next_transition = phase_of(move), next_transition_of(move)
        self._why = move.details.with_notes(self._memory.notes)
        self._details = str(self._why)
        self._outcome = move.outcome if isinstance(move, End) else None
        self._hold_told = self._memory.hold_reason
        workflow.set_current_details(f"**{self._phase}**: {self._details}")
        workflow.logger.info("incident moves on", extra={"phase": self._phase, "reason": self._details})

    @property
    def _has_untold_order(self) -> bool:
        is_left_alone = self._memory.left_alone is not None
        return (
            is_left_alone is not (self._phase is Phase.LEFT_ALONE)
            or self._memory.hold_reason != self._hold_told
        )

    @property
    def _detector_queue(self) -> str:
        return detector_queue(self._incident.cluster)

    @property
    def _began(self) -> datetime:
        return self._memory.began or workflow.info().workflow_start_time

    def _concluded(self, end: End) -> IncidentResult:
        """Note what back-off counts from, in the task that ends the incident (rule 14)."""
        memory, now = self._memory, workflow.now()
        if memory.attempt:
            number, attempt_ended = memory.attempt, memory.deleted_at or now
            workflow.upsert_search_attributes(
                [ATTEMPT.value_set(number), ATTEMPT_ENDED.value_set(attempt_ended)]
            )
        return IncidentResult(
            outcome=end.outcome,
            reason=str(end.details),
            started=self._began,
            ended=now,
            attempts=memory.attempt,
            deleted=memory.deleted_at,
            requests=ended(memory.records, now),
            orders=memory.orders,
        )


def _still_fresh(seen: Observation | None) -> Observation | None:
    """What the start carries, where it may still be acted on; None: ask.

    It is as old as the moment at which it was seen, by the detector's word: a client may have tried the start
    for a while, and the Temporal UI starts copies of old inputs.
    """
    if seen is None or seen.seen_at is None:
        return None
    age = workflow.now() - seen.seen_at
    return seen.model_copy(update={"answered_at": seen.seen_at}) if -CLOCK_TOLERANCE <= age < FRESH else None


def _memory_of(start: RemediationInput) -> Memory:
    """What the run before remembered; a copy of its input was not handed over by it."""
    is_handed_over = start.continues == (workflow.info().continued_run_id or "")
    return start.memory if is_handed_over else Memory()
