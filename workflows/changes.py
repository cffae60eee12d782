"""Changes: how an incident changes the cluster: each call is finished or given up, and its end remembered.

A call cut short would lose the object that it made; so a cancel in the middle waits for its end, which its
contract bounds.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from health.gate.act_finding import is_new
    from health.model.incident_result import IncidentResult, ended
    from health.model.moves import End, RequestMark
    from health.model.observation import Hold, HoldReason, Observation, failed
    from health.model.references import Action, IncidentReference, RequestReference, Step
    from health.model.request_snapshot import RequestSnapshot
    from health.model.verdict import Fact
    from health.runbook.chores import OF_CONFIRMATION, OF_LEASE, Chore, ChoreFailure, LeftBehind
    from health.runbook.escalation import Plan
    from health.runbook.memory import Memory
    from health.runbook.remediating import due_after_a_loss
    from workflows.calls import Result, call, in_words
    from workflows.contracts import (
        ACT,
        CLEAN_UP,
        MARK,
        RENEW,
        ActInput,
        ActResult,
        CleanUpInput,
        CleanUpResult,
        Contract,
        MarkInput,
        MarkResult,
        RenewInput,
        RenewResult,
    )
    from workflows.messages import ATTEMPT, ATTEMPT_ENDED

from workflows.orders import Orders


class Changes(Orders):
    """The base of a workflow that changes the cluster for one target."""

    def __init__(self, incident: IncidentReference, memory: Memory) -> None:
        super().__init__(incident, memory)
        self._seen: Observation | None = None
        """What is acted on; None when it must be asked for."""
        self._has_untold_finding = False
        """Whether the latest act found what the detector, and so people, do not know yet."""
        self._requests: tuple[RequestSnapshot, ...] = ()
        """As they were seen last."""
        self._details = "starting"

    async def _act(self, number: int, seen: Observation) -> None:
        step = seen.steps[number]
        if seen.fact is None:
            raise ApplicationError(f"an observation admitted {self._incident.target} without a fact")
        ordered = workflow.now()
        asked = self._order_to_act(number, seen, seen.fact, ordered)
        was_ordered = self._memory.may_have_deleted
        self._remember(may_hold_lease=True, may_have_deleted=step.action is Action.DELETE)
        result = await self._finish(self._attempt(asked))
        if result.is_lost:
            self._memory = self._memory.having_lost(asked.known, seen, ordered)
        elif result.is_done:
            self._seen = None
            self._memory = self._memory.having_disrupted(step, seen, result.lease_acquired_at, workflow.now())
        elif result.request is None:
            hold = result.hold or failed("it answered neither what it did nor why not")
            self._held(seen, hold, is_forbidden=result.is_forbidden)
            self._remember(may_have_deleted=was_ordered or _may_have_deleted(step, hold))
        else:
            self._seen = seen.model_copy(update={"requests": (*seen.requests, result.request)})
            self._memory = self._memory.having_acted(
                step, result.request, result.lease_acquired_at, workflow.now()
            )

    def _held(self, seen: Observation, hold: Hold, *, is_forbidden: bool) -> None:
        known = self._memory.found
        self._memory = self._memory.having_failed_to_act(
            hold, seen, workflow.now(), workflow.random().random(), is_forbidden=is_forbidden
        )
        self._has_untold_finding = is_new(known, self._memory.found)
        if self._memory.failing is None:
            self._seen = seen.model_copy(update={"hold": hold})
        elif hold.reason in (HoldReason.FAILED, HoldReason.STALE_FACTS):
            # What an act did that broke off nobody knows: its request may be there, so it asks first.
            self._seen = None

    def _order_to_act(self, number: int, seen: Observation, fact: Fact, now: datetime) -> ActInput:
        known = self._known(seen, seen.steps[number])
        return ActInput(
            incident=self._incident,
            run_id=workflow.info().original_execution_run_id,
            step=seen.steps[number],
            fact=fact,
            seen_at=seen.seen_at,
            generation=seen.generation,
            known=known,
            settled=self._memory.settled(known, seen),
            due_after_loss=self._due_after_loss(known, seen, now),
            attempt=self._memory.attempt_of(seen),
            holds_lease=self._memory.holds_lease,
            is_under_way=bool(seen.requests),
        )

    def _due_after_loss(
        self, known: tuple[RequestReference, ...], seen: Observation, now: datetime
    ) -> datetime | None:
        """By the rule that the incident itself will wait by, if that is what the act finds."""
        return due_after_a_loss(seen, self._memory.having_lost(known, seen, now)) if known else None

    def _known(self, seen: Observation, step: Step) -> tuple[RequestReference, ...]:
        """What was made in this step, or by an earlier list, and the detector does not see."""
        plan, visible = Plan(seen.steps), {request.uid for request in seen.requests}
        unseen = [one for one in self._memory.requests if one.uid not in visible]
        return tuple(one for one in unseen if plan.step_of(one) in (step, None))

    async def _attempt(self, asked: ActInput) -> ActResult:
        summary = f"{asked.step.order_for(self._incident.target)}: {self._details}"
        try:
            return await call(ACT, asked, ActResult, summary=summary)
        except ActivityError as error:
            return ActResult(hold=failed(in_words(error)))

    async def _mark(self, marks: tuple[RequestMark, ...]) -> None:
        tried = {mark.subject: str(mark) for mark in marks}
        asked = MarkInput(incident=self._incident, marks=marks)
        try:
            failures = (await self._chore_of(MARK, asked, MarkResult)).failures
        except ActivityError as error:
            failures = _all(tried, error)
        self._tried(Chore.MARK, tried, failures)
        failed_for = {failure.subject for failure in failures}
        written = tuple(mark for mark in marks if mark.subject not in failed_for)
        self._memory = self._memory.having_marked(written)

    async def _renew(self) -> None:
        seconds, with_turn = self._memory.lease_seconds, self._memory.is_of_control_plane
        asked = RenewInput(incident=self._incident, duration_seconds=seconds, is_of_control_plane=with_turn)
        tried = {OF_LEASE: f"renew the Lease of {self._incident.target}"}
        try:
            result = await self._chore_of(RENEW, asked, RenewResult)
        except ActivityError as error:
            result = RenewResult(failures=_all(tried, error))
        self._tried(Chore.RENEW, tried, result.failures)
        if result.failures:
            self._remember(renew_at=self._memory.next_try_of(Chore.RENEW, OF_LEASE))
            return
        acquired = result.acquired_at or self._memory.lease_acquired_at
        self._remember(renew_at=workflow.now() + timedelta(seconds=seconds / 2), lease_acquired_at=acquired)

    async def _give_back(self) -> None:
        """Give back the Lease, and keep the requests."""
        left = await self._clean(CleanUpInput(incident=self._incident, requests=()))
        if not left.has_lease:
            self._memory = self._memory.having_given_back()

    async def _clean_up(self, seen: Observation) -> bool:
        """Delete all requests; answers whether nothing remains."""
        visible = {request.uid for request in seen.requests}
        asked = CleanUpInput(
            incident=self._incident,
            requests=self._memory.requests,
            doubtful=tuple(one.uid for one in self._memory.requests if one.uid not in visible),
            is_confirmed=seen.is_confirmed,
        )
        left = await self._clean(asked)
        self._memory = self._memory.having_cleaned_up(left, self._requests, workflow.now())
        return self._memory.clean_up_at is None

    async def _clean(self, asked: CleanUpInput) -> LeftBehind:
        tried = {one.uid: f"delete {one}" for one in asked.requests}
        tried[OF_LEASE] = f"give back the Lease of {self._incident.target}"
        if asked.is_confirmed:
            tried[OF_CONFIRMATION] = f"take the mark off {self._incident.target}"
        asked = asked.model_copy(update={"is_of_control_plane": self._memory.may_hold_turn})
        try:
            result = await self._chore_of(CLEAN_UP, asked, CleanUpResult)
        except ActivityError as error:
            has_lease = self._memory.may_hold_lease
            result = CleanUpResult(failures=_all(tried, error), has_lease=has_lease)
        self._tried(Chore.CLEAN_UP, tried, result.failures)
        failed_for = {failure.subject for failure in result.failures}
        return LeftBehind(
            hanging=result.remaining,
            failed=tuple(one for one in asked.requests if one.uid in failed_for),
            has_lease=result.has_lease and self._memory.may_hold_lease,
        )

    async def _chore_of(
        self, contract: Contract, asked: MarkInput | RenewInput | CleanUpInput, result: type[Result]
    ) -> Result:
        return await self._finish(call(contract, asked, result, summary=self._details))

    def _tried(self, chore: Chore, tried: Mapping[str, str], failures: Iterable[ChoreFailure]) -> None:
        self._memory = self._memory.having_tried(
            chore, tried.keys(), failures, workflow.now(), workflow.random().random()
        )

    async def _finish(self, change: Coroutine[None, None, Result]) -> Result:
        changing = asyncio.ensure_future(change)
        try:
            return await asyncio.shield(changing)
        except asyncio.CancelledError:
            self._obey_cancel()
            return await changing

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
            reason=end.details,
            started=self._began,
            ended=now,
            attempts=memory.attempt,
            deleted=memory.deleted_at,
            requests=ended(memory.records, now),
            orders=memory.orders,
        )


def _all(tried: Mapping[str, str], error: ActivityError) -> tuple[ChoreFailure, ...]:
    """Nothing is known of what was tried: all of it is tried again."""
    why = in_words(error)
    return tuple(ChoreFailure(subject=subject, what=what, why=why) for subject, what in tried.items())


def _may_have_deleted(step: Step, hold: Hold) -> bool:
    """Whether an attempt that broke off may have deleted the target all the same."""
    return step.action is Action.DELETE and hold.reason is HoldReason.FAILED
