"""Remediation: the workflow of one incident, from the first matching condition until the target is clean.

The runbook is `health.runbook.decide`; this class carries its moves out. Rules of the file: it acts only
on a fresh answer; a call that changes the cluster is always awaited to its end; nothing is awaited between
the last observation and `return`, so no wake is lost while an incident ends.
"""

import asyncio
import contextlib
from dataclasses import replace
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from health.model.details import Details
    from health.model.evidence import EvidenceRecord
    from health.model.incident_result import IncidentResult, TimelineEntry
    from health.model.moves import (
        AnnotateRequests,
        AskApproval,
        Deadline,
        End,
        Move,
        NextEvent,
        Phase,
        RecordStep,
        ReleaseLease,
        RemoveRequests,
        RenewLease,
        SaveEvidence,
        TakeStep,
        Wait,
    )
    from health.model.observation import Observation, TargetState
    from health.model.order import OrderMessage
    from health.model.request_snapshot import RequestSnapshot
    from health.runbook.decide import next_move
    from health.runbook.incident import Incident
    from health.runbook.learn import learned, with_recorded_step
    from health.runbook.notifications import due, held_long_at, noted
    from health.runbook.orders import ORDERS, AbortOrder, OrderContext, ordered
    from health.runbook.state import Memory
    from health.runbook.words import entry_of, new_orders
    from objects.short_text import Brief
    from workflows import calls
    from workflows.calls import AdmittedStep, TaskCall, TaskResult
    from workflows.contracts import FRESH, ActResult
    from workflows.kit import (
        FinishedCalls,
        InvalidMessage,
        StandingOrders,
        Wakes,
        begin_a_new_run,
        is_new_run_due,
        read_message,
        refuse_other_id,
    )
    from workflows.messages import (
        ATTEMPT,
        ATTEMPT_ENDED,
        BLOCKED,
        WAKE,
        WORKFLOW,
        RemediationInput,
        State,
        Wake,
    )
    from workflows.notification import start_delivery
    from workflows.orders import accept
    from workflows.question import (
        NOT_ASKED,
        after_late_answers,
        answer,
        is_answer,
        renewal_at,
        spread,
        until_renewal,
    )
    from workflows.status import IncidentStatus, result_of, wait_summary

CANCELLED = AbortOrder(reason="cancelled in Temporal")
TOO_LATE = "the answers of the detector came too late to act on"


@workflow.defn(name=WORKFLOW)
class Remediation:
    """The workflow of one incident; `run` is its main loop."""

    @workflow.init
    def __init__(self, start: RemediationInput) -> None:
        self._incident = start.incident
        self._memory = start.memory if start.is_handed_over() else Memory()
        self._orders = StandingOrders[OrderMessage](self._write_down, when_cancelled=CANCELLED)
        self._calls = FinishedCalls(self._orders.obey_cancel)
        self._wakes = Wakes()
        self._start_seen_at = start.observation.seen_at if start.observation else None
        self._observation = start.fresh_observation(workflow.now())
        """The observation to act on; None: ask first."""
        self._learned: Observation | None = None
        """The latest observation, also while the incident asks for the next one."""
        self._last_known: Observation | None = None
        """The latest observation that knew the state of the target."""
        self._status = IncidentStatus()
        for spec in ORDERS.values():
            accept(spec, start.incident.target, self._orders.give, self._note_drop, self._situation)

    @workflow.run
    async def run(self, start: RemediationInput) -> IncidentResult:
        """Carry out the moves of the runbook until it ends the incident."""
        refuse_other_id(start.incident.workflow_id)
        while True:
            try:
                self._memory = self._memory.at(workflow.now())
                observation = await self._observe()
                move = next_move(observation, self._memory, workflow.now())
                self._say(move)
                is_first = not self._memory.timeline.entries
                target, now = self._incident.target, workflow.now()
                self._note(entry_of(move, observation, target, now, is_first=is_first))
                match move:
                    case Wait():
                        await self._rest(move, observation)
                    case AskApproval() | SaveEvidence() | RecordStep() | TakeStep():
                        await self._step(move, observation)
                    case AnnotateRequests(patches=patches):
                        await self._do(calls.annotation(self._incident, patches))
                    case RenewLease():
                        await self._do(calls.renewal(self._incident, self._memory))
                    case ReleaseLease():
                        await self._do(calls.release(self._incident))
                    case RemoveRequests():
                        await self._clean_up(observation)
                    case End() if not self._is_woken() and not await self._notify(move, observation):
                        return self._concluded(move)
            except asyncio.CancelledError:
                self._orders.obey_cancel()

    @workflow.signal(name=WAKE)
    def wake(self, *values: object) -> None:
        """Ask again. The wake sent with a start is ignored, because the start has its observation."""
        with contextlib.suppress(InvalidMessage):  # it wakes the incident as well
            wake = read_message(Wake, values)
            if wake.seen_at is not None and wake.seen_at == self._start_seen_at:
                return
        self._wakes.receive()

    @workflow.query
    def state(self) -> State:
        """The state of the incident, in words."""
        return self._status.state(self._observation, self._last_known, self._requests, self._memory)

    def _write_down(self, order: OrderMessage) -> None:
        before = self._memory
        self._memory = ordered(before, order, workflow.now())
        self._note(*new_orders(self._memory, before, workflow.now()))

    def _situation(self) -> OrderContext:
        return OrderContext(
            phase=self._status.phase,
            memory=self._memory,
            observation=self._observation or self._learned,
            now=workflow.now(),
            templates=self._memory.steps,
        )

    @property
    def _requests(self) -> tuple[RequestSnapshot, ...]:
        return self._learned.requests if self._learned else ()

    async def _observe(self) -> Observation:
        """The current observation; the detector is asked unless the last answer is still to be acted on."""
        late = 0
        while (
            self._observation is None
            or self._is_woken()
            or self._observation.is_outdated(workflow.now(), FRESH)
        ):
            if self._observation is not None and self._observation.is_outdated(workflow.now(), FRESH):
                late += 1
                await self._pause_after(late)
            is_change_awaited = self._wakes.has_new and self._memory.clean_up_at is not None
            self._observation = None
            self._wakes.answer()
            self._orders.obey()
            if self._memory.left_alone and self._memory.owns_something and not is_change_awaited:
                return NOT_ASKED  # an abort cleans up at once, even if no detector answers
            self._observation = await self._ask()
            if self._is_woken():  # it may be woken after each question and never rest
                self._begin_a_new_run_if_due()
            if self._observation is None:
                return NOT_ASKED
            if self._acts_at_once(self._observation):
                break
        return self._learn(self._observation)

    def _acts_at_once(self, answer: Observation) -> bool:
        """True if it acts on the answer although a wake may have arrived, which it answers after the act.

        A cluster may change faster than the incident asks; the act revalidates. An order takes precedence.
        """
        is_fresh = not answer.is_outdated(workflow.now(), FRESH)
        return answer.is_admitted and is_fresh and not self._orders.has_new

    async def _pause_after(self, late: int) -> None:
        """Wait after this many late answers in a row, so that others can ask; the Lease is still renewed."""
        pause = after_late_answers(late, workflow.random())
        if not pause:
            return
        due = renewal_at(self._memory)
        if due is not None and due <= workflow.now():
            await self._do(calls.renewal(self._incident, self._memory))
        self._begin_a_new_run_if_due()
        longest = until_renewal(self._memory)
        until = Deadline(workflow.now() + min(pause, longest or pause), NextEvent.ASKS_AGAIN)
        wait = Wait(phase=self._status.phase, details=Details(reason=TOO_LATE), brief=Brief(TOO_LATE))
        await self._wait(wait.or_until(until))

    async def _ask(self) -> Observation | None:
        """Ask the detector; None if an order of a person arrived before the answer."""
        if not self._status.is_true_of(self._memory):
            # Show an order without waiting for the answer.
            requests = self._requests if self._memory.owns_something else ()
            unanswered = NOT_ASKED.model_copy(update={"requests": requests})
            self._say(next_move(unanswered, self._memory, workflow.now()))
        while True:
            try:
                before = self._memory
                observation = await answer(self._incident, self._memory, self._orders, self._status)
            except ActivityError:  # no detector answered the question in time
                await self._do(calls.renewal(self._incident, self._memory))
                self._begin_a_new_run_if_due()
            else:
                self._memory = self._memory.after_report(before) if observation else self._memory
                return observation

    def _learn(self, answer: Observation) -> Observation:
        observation = self._memory.complete(answer).held_since(self._memory.holds, workflow.now())
        before = self._memory
        self._memory = learned(before, observation, workflow.now())
        self._note(*new_orders(self._memory, before, workflow.now()))
        self._learned = observation
        self._last_known = self._last_known if observation.state is TargetState.UNKNOWN else observation
        return observation

    async def _step(
        self, move: AskApproval | SaveEvidence | RecordStep | TakeStep, observation: Observation
    ) -> None:
        match move:
            case AskApproval(approval=approval):
                self._memory = replace(self._memory, approval=approval)
            case SaveEvidence(before=due):
                await self._save_evidence(due, observation)
            case RecordStep(step=number):
                self._memory = with_recorded_step(self._memory, number, observation, workflow.now())
            case TakeStep():
                await self._act(self._admitted(move, observation))

    def _admitted(self, move: TakeStep, observation: Observation) -> AdmittedStep:
        return AdmittedStep(
            step=observation.steps[move.step],
            admission=move.admission,
            observation=observation,
            before=self._memory,
            began=workflow.now(),
        )

    async def _act(self, step: AdmittedStep) -> None:
        request = step.asks(self._incident, workflow.info().original_execution_run_id)
        self._memory = self._memory.before_act(step.step)
        await self._go_on_after(step, await calls.act(self._calls, request))

    async def _save_evidence(self, due: TakeStep | RecordStep, observation: Observation) -> None:
        """The finding of its revalidation holds like that of the act."""
        first_run_id = workflow.info().first_execution_run_id
        request = calls.evidence_before(due, observation, self._memory, self._incident, first_run_id)
        result = await calls.save_evidence(self._calls, request, workflow.now())
        if isinstance(result, EvidenceRecord):
            self._memory = replace(self._memory, evidence=result)
        elif isinstance(due, TakeStep):
            await self._go_on_after(self._admitted(due, observation), ActResult.held(result))
        else:
            self._observation = observation.held_by(result)

    async def _go_on_after(self, step: AdmittedStep, result: ActResult) -> None:
        after = step.after(result, self._memory, workflow.now(), workflow.random().random())
        self._memory, self._observation = after.memory, after.observation
        if not after.has_unreported_finding:
            return
        # Send the finding of the act to the detector at once, with a question; its hold stays.
        hold = self._observation.hold if self._observation else None
        self._observation = await self._ask()
        if self._observation is not None and self._observation.may_be_admitted and hold is not None:
            self._observation = self._observation.held_by(hold)

    async def _clean_up(self, observation: Observation) -> None:
        await self._do(calls.clean_up(self._incident, self._memory, observation, self._requests))
        if not is_answer(observation):
            self._observation = None
        elif self._memory.clean_up_at is None:
            self._observation = observation.model_copy(
                update={"requests": (), "is_confirmed": False, "order": None}
            )

    async def _do(self, task: TaskCall[TaskResult]) -> None:
        result = await task.done(self._calls)
        self._memory = task.after(result, self._memory, workflow.now(), workflow.random().random())

    async def _rest(self, move: Wait, observation: Observation) -> None:
        self._begin_a_new_run_if_due()
        self._memory = self._memory.resting(workflow.now())
        await self._notify(move, observation)
        if not (self._observation and self._memory.has_report_due):  # else it asks at once
            self._show_if_blocked(move)
            wait = move.or_until(held_long_at(Incident.of(observation, self._memory, workflow.now())))
            await self._wait_and_renew(spread(wait, self._memory, workflow.now(), workflow.random()))
        self._observation = None

    def _show_if_blocked(self, wait: Wait) -> None:
        """Set the search attribute of saved views if it changed: each change costs an event."""
        before = workflow.info().typed_search_attributes.get(BLOCKED)
        if before == wait.blocked or wait.is_short_hold(workflow.now()):
            return
        now = BLOCKED.value_set(wait.blocked) if wait.blocked else BLOCKED.value_unset()
        workflow.upsert_search_attributes([now])

    async def _wait_and_renew(self, wait: Wait) -> None:
        """Wait; a renewal of the Lease alone does not end the wait, because the detector cannot add to it."""
        await self._wait(wait)
        while wait.is_over_for_renewal(workflow.now()) and not self._is_woken():
            before = self._memory
            await self._do(calls.renewal(self._incident, self._memory))
            if self._is_woken() or not self._memory.is_only_renewed_since(before):
                return
            self._begin_a_new_run_if_due()
            wait = wait.with_next_renewal(self._memory.lease.renew_at)
            await self._wait(wait)

    async def _notify(self, move: Wait | End, observation: Observation) -> bool:
        """Start the notifications that are due before this move; True if there were any.

        An order may arrive meanwhile, so the memory is that of now after each start.
        """
        if not observation.notifies or not is_answer(observation):
            return False
        self._memory = noted(Incident.of(observation, self._memory, workflow.now()), move)
        notifications = due(
            self._incident, Incident.of(observation, self._memory, workflow.now()), move, self._began
        )
        for notification in notifications:
            await start_delivery(notification, self._incident, self._orders.obey_cancel)
            self._memory = notification.remembered(self._memory)
        return bool(notifications)

    async def _wait(self, wait: Wait) -> None:
        self._status = self._status.resting(wait, workflow.now())
        workflow.set_current_details(str(self._status))
        timeout = wait.requeue_after(workflow.now())
        summary = wait_summary(wait, workflow.now())
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(self._is_woken, timeout=timeout, timeout_summary=summary)
        self._status = self._status.awake()

    def _is_woken(self) -> bool:
        return self._wakes.has_new or self._orders.has_new

    def _begin_a_new_run_if_due(self) -> None:
        if is_new_run_due():
            memory = replace(self._memory, began=self._began)
            begin_a_new_run(RemediationInput(incident=self._incident, memory=memory))

    @property
    def _began(self) -> datetime:
        return self._memory.began or workflow.info().workflow_start_time

    def _say(self, move: Move) -> None:
        self._status = status = IncidentStatus.of(move, self._memory)
        workflow.set_current_details(str(status))
        workflow.logger.info("incident moves on", extra={"phase": status.phase, "reason": status.details})

    def _note(self, *entries: TimelineEntry | None) -> None:
        for entry in filter(None, entries):
            timeline = self._memory.timeline.noting(entry, self._began)
            self._memory = replace(self._memory, timeline=timeline)

    def _note_drop(self, order: str, problem: InvalidMessage) -> None:
        phase = self._memory.timeline.phase or Phase.WAITING
        self._note(TimelineEntry(at=workflow.now(), phase=phase, what=f"{order} is dropped: {problem}"))

    def _concluded(self, end: End) -> IncidentResult:
        """Set the attributes for back-off, in the task that ends the incident (rule 14)."""
        words = end.details.beside_subject.lasting
        what = "; ".join(filter(None, (end.outcome, words)))
        self._note(TimelineEntry(at=workflow.now(), phase=Phase.ENDED, what=what))
        result = result_of(end, self._memory, self._began, workflow.now())
        if result.attempts:
            attempt_ended = ATTEMPT_ENDED.value_set(result.deleted or result.ended)
            workflow.upsert_search_attributes([ATTEMPT.value_set(result.attempts), attempt_ended])
        return result
