"""Remediation: the workflow of one incident, from the first matching condition until the target is clean.

The runbook is `health.next_move`; this carries its moves out. Rules of the file: it acts on nothing but what
it has just asked for; a call that changes the cluster is always finished; between the last look and `return`
nothing is awaited, so that no look is lost while an incident ends.
"""

import asyncio
import contextlib
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from health.frozen import Frozen
    from health.next_move import (
        Act,
        CleanUp,
        End,
        Move,
        Outcome,
        Phase,
        Renew,
        Rest,
        lease_duration,
        next_move,
        phase_of,
    )
    from health.observation import Observation, TargetState
    from health.references import RequestReference
    from workflows.calls import SUMMARY, Result, call
    from workflows.contracts import (
        ACT,
        CLEAN_UP,
        FRESH,
        OBSERVE,
        RENEW,
        ActInput,
        ActResult,
        CleanUpInput,
        CleanUpResult,
        Contract,
        ObserveInput,
        RenewInput,
        eyes_queue,
    )
    from workflows.messages import LOOK, WORKFLOW, RemediationInput, State

from workflows.orders import Orders

CLEAN_UP_AGAIN = timedelta(minutes=1)
"""How long a request may hang on a finalizer before it is looked at without being told."""
NOT_ASKED = Observation(state=TargetState.UNKNOWN, reason="no answer of the detector yet")


@workflow.defn(name=WORKFLOW)
class Remediation(Orders):
    """One incident."""

    @workflow.init
    def __init__(self, start: RemediationInput) -> None:
        super().__init__(start.incident, start.memory)
        self._seen = _as_of_the_start(start.observation)
        # The start came with one look of its own; what it would tell is the observation that it carries.
        self._looks_answered = 1 if start.observation else 0
        self._looks = 0
        self._orders_obeyed = 0
        self._phase, self._details = Phase.WAITING, "starting"
        self._outcome: Outcome | None = None
        self._hold_told = ""
        self._wakes_at: datetime | None = None

    @workflow.run
    async def run(self, start: RemediationInput) -> Outcome:  # noqa: ARG002  `__init__` took it
        """Do what the runbook says until nothing is left to do."""
        while True:
            try:
                self._memory = self._memory.at(workflow.now())
                seen = await self._look()
                move = next_move(seen, self._memory, workflow.now())
                self._tell(move)
                match move:
                    case Rest():
                        await self._rest(move)
                    case Act(step=step):
                        await self._act(step, seen)
                    case Renew():
                        await self._renew()
                    case CleanUp():
                        await self._clean_up(seen)
                    case End(outcome=outcome) if not self._is_woken():
                        return outcome
            except asyncio.CancelledError:
                self._obey_cancel()

    @workflow.signal(name=LOOK)
    def look(self) -> None:
        """Wake up and ask again; it carries no facts on purpose."""
        self._looks += 1

    @workflow.query
    def state(self) -> State:
        """Where the incident is, in words."""
        return State(
            phase=self._phase,
            details=self._details,
            outcome=self._outcome,
            requests=self._memory.requests,
            observation=self._seen,
            memory=self._memory,
            wakes_at=self._wakes_at,
        )

    async def _look(self) -> Observation:
        """What the detector sees; asked afresh unless the last answer is still to be acted on."""
        while self._seen is None or self._is_woken() or self._seen.is_outdated(workflow.now(), FRESH):
            self._seen, self._looks_answered, self._orders_obeyed = None, self._looks, self._orders
            if self._memory.left_alone and self._memory.owns_something:
                return NOT_ASKED  # an abort cleans up at once, also where no detector answers
            self._seen = await self._ask()
            if self._seen is None:
                return NOT_ASKED
        self._adopt(self._seen)
        return self._seen

    async def _ask(self) -> Observation | None:
        """Ask the detector; None where an order of a person came before the answer."""
        if self._has_untold_order:
            self._tell(next_move(NOT_ASKED, self._memory, workflow.now()))  # an order shows without an answer
        workflow.set_current_details(f"{self._details}\n\nAsks the detector, queue {self._eyes}.")
        asked = ObserveInput(incident=self._incident)
        asking = call(OBSERVE, asked, Observation, queue=self._eyes, summary=self._details)
        try:
            await workflow.wait_condition(lambda: asking.done() or self._orders > self._orders_obeyed)
            return asking.result() if asking.done() else None
        finally:
            asking.cancel()

    async def _rest(self, rest: Rest) -> None:
        if workflow.info().is_continue_as_new_suggested():
            workflow.continue_as_new(RemediationInput(incident=self._incident, memory=self._memory))
        timeout = None if rest.seconds is None else timedelta(seconds=rest.seconds * self._jitter(rest.phase))
        self._wakes_at = None if timeout is None else workflow.now() + timeout
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                self._is_woken, timeout=timeout, timeout_summary=f"{rest.phase}: {rest.details}"[:SUMMARY]
            )
        self._seen = self._wakes_at = None

    async def _act(self, number: int, seen: Observation) -> None:
        step, fact = seen.steps[number], seen.fact
        if fact is None:
            raise ApplicationError(f"an observation admitted {self._incident.target} without a fact")
        self._remember(may_hold_lease=True)
        asked = ActInput(
            incident=self._incident,
            run_id=workflow.info().run_id,
            step_number=number,
            step=step,
            fact=fact,
            generation=seen.generation,
            known=self._memory.requests,
        )
        result = await self._finish(ACT, asked, ActResult)
        if result.request is None:
            self._seen = seen.model_copy(update={"hold": result.hold})
            return
        self._seen = seen.model_copy(update={"requests": (result.request,)})
        if result.request not in asked.known:  # then nothing that was known is there any more
            self._remember(requests=(result.request,))
        self._remember(
            has_acted=True,
            lease_seconds=lease_duration(step).total_seconds(),
            renew_at=workflow.now() + lease_duration(step),
        )

    async def _renew(self) -> None:
        seconds = self._memory.lease_seconds
        await self._finish(RENEW, RenewInput(incident=self._incident, duration_seconds=seconds), None)
        self._remember(renew_at=workflow.now() + timedelta(seconds=seconds))

    async def _clean_up(self, seen: Observation) -> None:
        asked = CleanUpInput(incident=self._incident, requests=self._memory.requests)
        result = await self._finish(CLEAN_UP, asked, CleanUpResult)
        self._seen = None if seen is NOT_ASKED else seen.model_copy(update={"requests": ()})
        self._remember(requests=result.remaining, may_hold_lease=bool(result.remaining), renew_at=None)
        if result.remaining:
            await self._wait_for_finalizer(result.remaining)

    async def _wait_for_finalizer(self, remaining: tuple[RequestReference, ...]) -> None:
        details = f"{', '.join(map(str, remaining))} hangs on a finalizer"
        wait = Rest(Phase.CLEANING_UP, details, CLEAN_UP_AGAIN.total_seconds())
        self._tell(wait)
        await self._rest(wait)

    async def _finish(self, contract: Contract, argument: Frozen, result: type[Result] | None) -> Result:
        """Call what changes the cluster, to its end: a call cut short would lose the object it made."""
        queue = workflow.info().task_queue
        acting = call(contract, argument, result, queue=queue, summary=self._details)
        try:
            finished: Result = await asyncio.shield(acting)
        except asyncio.CancelledError:
            self._obey_cancel()
            finished = await acting
        return finished

    def _adopt(self, seen: Observation) -> None:
        """Remember what the cluster shows of ours: it is kept, and cleaned up, whoever made it."""
        if not seen.requests:
            return
        known = {request.uid: request for request in (*self._memory.requests, *seen.requests)}
        self._remember(
            requests=tuple(known.values()),
            has_acted=True,
            may_hold_lease=True,
            renew_at=self._memory.renew_at or workflow.now(),
        )

    def _is_woken(self) -> bool:
        return self._looks > self._looks_answered or self._orders > self._orders_obeyed

    def _jitter(self, phase: Phase) -> float:
        """Spread a thousand held incidents over time; a deadline is kept to the second."""
        is_spread = phase is Phase.HELD and not self._memory.held
        return workflow.random().uniform(0.9, 1.1) if is_spread else 1.0

    def _tell(self, move: Move) -> None:
        self._phase, self._details = phase_of(move), move.details
        self._outcome = move.outcome if isinstance(move, End) else None
        self._hold_told = self._memory.hold_in_words
        workflow.set_current_details(f"**{self._phase}**: {self._details}")
        workflow.logger.info("incident moves on", extra={"phase": self._phase, "reason": self._details})

    @property
    def _has_untold_order(self) -> bool:
        is_left_alone = self._phase is Phase.LEFT_ALONE
        return self._memory.left_alone is not is_left_alone or self._memory.hold_in_words != self._hold_told

    @property
    def _eyes(self) -> str:
        return eyes_queue(self._incident.cluster)


def _as_of_the_start(seen: Observation | None) -> Observation | None:
    """What the start carries was seen when it was sent, and is as old as the workflow."""
    return seen and seen.model_copy(update={"answered_at": workflow.info().workflow_start_time})
