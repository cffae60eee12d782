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
    from health.model.incident_result import IncidentResult
    from health.model.moves import (
        End,
        GiveBack,
        MarkRequests,
        Move,
        Outcome,
        Phase,
        RemoveRequests,
        RenewLease,
        TakeStep,
        Wait,
        phase_of,
    )
    from health.model.observation import Observation, TargetState
    from health.runbook.learning import learned
    from health.runbook.memory import Memory
    from health.runbook.next_move import next_move
    from health.runbook.wording import told_first
    from workflows.calls import ask, in_summary
    from workflows.contracts import CLOCK_TOLERANCE, FRESH, ObserveInput, detector_queue
    from workflows.messages import WAKE, WORKFLOW, RemediationInput, State, Wake

from workflows.changes import Changes

SHORTEST_WAIT = timedelta(seconds=5)
SPREAD_FROM_SECONDS = 600.0
"""A hold that lasts so long is asked about again a little early, so that a thousand don't ask at once."""
NOT_ASKED = Observation(state=TargetState.UNKNOWN, reason="no answer of the detector yet")


@workflow.defn(name=WORKFLOW)
class Remediation(Changes):
    """One incident."""

    @workflow.init
    def __init__(self, start: RemediationInput) -> None:
        super().__init__(start.incident, _memory_of(start))
        self._seen = _still_fresh(start.observation)
        self._start_seen_at = start.observation.seen_at if start.observation else None
        self._wakes = self._wakes_answered = 0
        self._orders_obeyed = 0
        self._phase, self._hold_told = Phase.WAITING, ""
        self._outcome: Outcome | None = None
        self._wakes_at: datetime | None = None

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
                        await self._tell_what_was_found()
                    case MarkRequests(marks=marks):
                        await self._mark(marks)
                    case RenewLease():
                        await self._renew()
                    case GiveBack():
                        await self._give_back()
                    case RemoveRequests():
                        await self._clean_up_all(seen)
                    case End() if not self._is_woken():
                        return self._concluded(move)
            except asyncio.CancelledError:
                self._obey_cancel()

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
            outcome=self._outcome,
            requests=self._requests,
            observation=self._seen,
            memory=self._memory,
            wakes_at=self._wakes_at,
        )

    async def _observe(self) -> Observation:
        """What the detector sees; asked afresh unless the last answer is still to be acted on."""
        while self._seen is None or self._is_woken() or self._seen.is_outdated(workflow.now(), FRESH):
            is_told = self._wakes > self._wakes_answered and self._memory.clean_up_at is not None
            self._seen, self._wakes_answered, self._orders_obeyed = None, self._wakes, self._orders
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

    async def _tell_what_was_found(self) -> None:
        """Tell the detector at once what only the act saw, with a question; that holds all the same."""
        if not self._has_untold_finding:
            return
        self._has_untold_finding, hold = False, self._seen and self._seen.hold
        self._seen = await self._ask()
        if self._seen is not None and self._seen.is_admitted:
            self._seen = self._seen.model_copy(update={"hold": hold})

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
        return asking.done() or self._orders > self._orders_obeyed

    @property
    def _until_renewal(self) -> timedelta | None:
        """How long a question may wait for a detector, while a Lease is to be kept."""
        memory, renew_at = self._memory, self._memory.renew_at
        is_kept = memory.may_hold_lease and not memory.is_exhausted and memory.clean_up_at is None
        if not is_kept or renew_at is None:
            return None
        return max(SHORTEST_WAIT, renew_at - workflow.now())

    async def _rest(self, rest: Wait) -> None:
        self._begin_a_new_run_if_due()
        self._memory = self._memory.resting(workflow.now())
        timeout = None if rest.seconds is None else timedelta(seconds=self._spread(rest.phase, rest.seconds))
        self._wakes_at = None if timeout is None else workflow.now() + timeout
        # What may be cut stands behind the reason of a hold.
        words = f"{rest.phase}: {told_first(rest.details, self._memory.hold_in_words)}"
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

    async def _clean_up_all(self, seen: Observation) -> None:
        is_done = await self._clean_up(seen)
        if seen is NOT_ASKED:
            self._seen = None
        elif is_done:
            self._seen = seen.model_copy(update={"requests": (), "is_confirmed": False})

    def _is_woken(self) -> bool:
        return self._wakes > self._wakes_answered or self._orders > self._orders_obeyed

    def _spread(self, phase: Phase, seconds: float) -> float:
        if phase is not Phase.HELD or self._memory.held or seconds < SPREAD_FROM_SECONDS:
            return seconds
        return seconds * workflow.random().uniform(0.9, 1.0)

    def _tell(self, move: Move) -> None:
        self._phase = phase_of(move)
        self._details = "; ".join((move.details, *map(str, self._memory.notes)))
        self._outcome = move.outcome if isinstance(move, End) else None
        self._hold_told = self._memory.hold_in_words
        workflow.set_current_details(f"**{self._phase}**: {self._details}")
        workflow.logger.info("incident moves on", extra={"phase": self._phase, "reason": self._details})

    @property
    def _has_untold_order(self) -> bool:
        is_left_alone = self._phase is Phase.LEFT_ALONE
        return self._memory.left_alone is not is_left_alone or self._memory.hold_in_words != self._hold_told

    @property
    def _detector_queue(self) -> str:
        return detector_queue(self._incident.cluster)


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
