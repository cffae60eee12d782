"""Changes: how an incident changes the cluster: each call is always finished, and remembered.

A call cut short would lose the object that it made; so a cancel in the middle waits for its end.
"""

import asyncio
from collections.abc import Coroutine
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError

with workflow.unsafe.imports_passed_through():
    from health.escalation import Plan
    from health.memory import Memory
    from health.moves import Outcome, RequestMark
    from health.new_step import due_after_a_loss
    from health.observation import Hold, HoldReason, Observation, failed
    from health.references import Action, IncidentReference, RequestReference, Step
    from health.request_sight import RequestSight
    from health.verdict import Fact
    from workflows.calls import Result, in_words, once, until_done
    from workflows.contracts import (
        ACT,
        CLEAN_UP,
        MARK,
        RENEW,
        ActInput,
        ActResult,
        CleanUpInput,
        CleanUpResult,
        MarkInput,
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
        self._requests: tuple[RequestSight, ...] = ()
        """As they were seen last."""
        self._details = "starting"

    async def _act(self, number: int, seen: Observation) -> None:
        step = seen.steps[number]
        if seen.fact is None:
            raise ApplicationError(f"an observation admitted {self._incident.target} without a fact")
        ordered = workflow.now()
        asked = self._order_to_act(number, seen, seen.fact, ordered)
        self._remember(may_hold_lease=True, may_have_deleted=step.action is Action.DELETE)
        result = await self._finish(self._attempt(asked))
        if result.is_lost:
            self._memory = self._memory.having_lost(asked.known, seen, ordered)
        elif result.is_done:
            self._seen = None
            self._memory = self._memory.having_disrupted(step, seen, result.lease_acquired_at, workflow.now())
        elif result.request is None:
            self._seen = seen.model_copy(update={"hold": result.hold})
            self._remember(found=result.hold, may_have_deleted=_may_have_deleted(step, result.hold))
        else:
            self._seen = seen.model_copy(update={"requests": (*seen.requests, result.request)})
            self._memory = self._memory.having_acted(
                step, result.request, result.lease_acquired_at, workflow.now()
            )

    def _order_to_act(self, number: int, seen: Observation, fact: Fact, now: datetime) -> ActInput:
        known = self._known(seen, seen.steps[number])
        return ActInput(
            incident=self._incident,
            run_id=workflow.info().run_id,
            step=seen.steps[number],
            fact=fact,
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
        try:
            return await once(ACT, asked, ActResult, summary=self._details)
        except FailureError as error:
            return ActResult(hold=failed(in_words(error)))

    async def _mark(self, marks: tuple[RequestMark, ...]) -> None:
        asked = MarkInput(incident=self._incident, marks=marks)
        await self._finish(until_done(MARK, asked, None, summary=self._details))
        self._memory = self._memory.having_marked(marks)

    async def _renew(self) -> None:
        seconds, with_turn = self._memory.lease_seconds, self._memory.is_of_control_plane
        asked = RenewInput(incident=self._incident, duration_seconds=seconds, is_of_control_plane=with_turn)
        result = await self._finish(until_done(RENEW, asked, RenewResult, summary=self._details))
        acquired = result.acquired_at or self._memory.lease_acquired_at
        self._remember(renew_at=workflow.now() + timedelta(seconds=seconds), lease_acquired_at=acquired)

    async def _give_back(self) -> None:
        """Give back the Lease, and keep the requests."""
        asked = CleanUpInput(
            incident=self._incident, requests=(), is_of_control_plane=self._memory.may_hold_turn
        )
        await self._finish(until_done(CLEAN_UP, asked, CleanUpResult, summary=self._details))
        self._memory = self._memory.having_given_back()

    async def _clean_up(self, seen: Observation) -> tuple[RequestReference, ...]:
        """Delete all requests; answers what a finalizer keeps."""
        visible = {request.uid for request in seen.requests}
        asked = CleanUpInput(
            incident=self._incident,
            requests=self._memory.requests,
            doubtful=tuple(one.uid for one in self._memory.requests if one.uid not in visible),
            is_of_control_plane=self._memory.may_hold_turn,
            is_confirmed=seen.is_confirmed,
        )
        result = await self._finish(until_done(CLEAN_UP, asked, CleanUpResult, summary=self._details))
        self._seen = seen.model_copy(update={"requests": (), "is_confirmed": False})
        self._memory = self._memory.having_cleaned_up(result.remaining, self._requests)
        return result.remaining

    async def _finish(self, change: Coroutine[None, None, Result]) -> Result:
        changing = asyncio.ensure_future(change)
        try:
            return await asyncio.shield(changing)
        except asyncio.CancelledError:
            self._obey_cancel()
            return await changing

    def _concluded(self, outcome: Outcome) -> Outcome:
        """Note what back-off counts from, in the task that ends the incident (decision 14)."""
        if self._memory.attempt:
            number, ended = self._memory.attempt, self._memory.deleted_at or workflow.now()
            workflow.upsert_search_attributes([ATTEMPT.value_set(number), ATTEMPT_ENDED.value_set(ended)])
        return outcome


def _may_have_deleted(step: Step, hold: Hold | None) -> bool:
    """Whether an attempt that broke off may have deleted the target all the same."""
    return step.action is Action.DELETE and hold is not None and hold.reason is HoldReason.FAILED
