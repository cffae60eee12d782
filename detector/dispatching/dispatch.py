"""Dispatch: starts and wakes the incidents of one cluster so that those open match those wanted.

Open incidents are those that Temporal lists, when this process becomes the leader and every five minutes, and
those that were started since. A wanted incident that is not open is started with its observation; an open one
with an outdated observation is woken. The most urgent go first, failed calls are retried with back-off after
those of other incidents, and an incident is woken at most once a second. Comparisons and lists are worked
through in pieces that yield to the event loop.

After an incident has ended, a watch that lags may still show the reason for it. So an incident that knew the
whole observation is not started again before every watch must be up to date; news since then starts it at
once. The first starts do not wait for the list, as visibility may lag: a start finds out whether its workflow
is open. The list adds the open incidents that the cluster no longer asks for.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from temporalio.service import RPCError, RPCStatusCode

from detector.dispatching.incident_calls import VISIBLE_AFTER, IncidentCalls
from detector.dispatching.incident_queues import (
    Comparisons,
    OpenIncident,
    OpenIncidents,
    Refusals,
    WakePace,
    WorkQueue,
)
from detector.state.cluster_state import ClusterState
from health.cluster.clock_skew import by_temporals_clock
from health.model.admission import Intent
from health.model.observation import Hold, HoldReason, Observation
from health.model.references import CheckReference, IncidentReference
from health.runbook.wake_up import admitted_at, appeared, has_late_request, needs_wake_up
from kube.time_slice import TimeSlice
from objects.backoff import FULL_JITTER, Backoff
from runtime.problems import Problems, one_sentence, retry_forever
from workflows.contracts import FRESH
from workflows.messages import EarlierAttempt

CALLS, LISTS = "dispatch", "incidents"
"""The names of its calls and of its lists in logs and problems."""
RECONCILE_EVERY = timedelta(minutes=5)
CALLS_AT_ONCE = 20
UNANSWERED = Backoff(timedelta(seconds=1), timedelta(seconds=10), jitter=FULL_JITTER)
REFUSED_SECONDS = 10.0
"""How long to wait before repeating a refused call; any failed call lets others go first for as long."""
ALL_SEEN = timedelta(seconds=45)
"""After this time every working watch was confirmed fresh, so what it still shows exists."""
ACTED_ON_WITHIN = FRESH + timedelta(seconds=3)
"""By then the effect of an admission is seen: two seconds for clocks, one for the watch."""
WOULD_ACT = Intent()
REFUSED = "Temporal refuses to start or wake its incident"


class EarlierAttempts(Protocol):
    """The remediations of targets before their incidents."""

    def are_unknown(self, incident: IncidentReference) -> bool:
        """True if back-off holds the target only because its latest remediation was not read."""

    async def ask(self, incident: IncidentReference) -> None:
        """Ask Temporal for the latest remediation of this target alone; raises RPCError."""

    def latest(self, incident: IncidentReference) -> EarlierAttempt | None:
        """The latest remediation of the target, or that there was none; None: that is unknown."""


Observe = Callable[[IncidentReference], Observation]
"""Returns the observation of an incident now."""
Answered = Callable[[IncidentReference, Observation, Intent], Observation]
"""Returns the answer to a question with this intent; may reserve a slot."""


@dataclass(frozen=True)
class _Admission:
    """The admission on which an open incident may be acting now."""

    seen_at: datetime | None = None
    """When its admission was observed; None if it has none, or that is not known."""
    intent: Intent = WOULD_ACT
    """The intent of its latest question."""


class Dispatch:
    """Starts and wakes the incidents of one cluster, while this detector is the leader.

    There should be one incident for each unhealthy target, and one for each request of ours, so that the
    request of a terminated workflow is removed too. An unhealthy target must have an incident; for a request
    alone, no incident is started while the previous one may just have ended.
    """

    def __init__(  # noqa: PLR0913  each is an independent choice of the wiring
        self,
        calls: IncidentCalls,
        cluster_state: ClusterState,
        observe: Observe,
        *,
        is_leader: Callable[[], bool],
        now: Callable[[], datetime],
        problems: Problems,
        answered: Answered,
        earlier_attempts: EarlierAttempts,
    ) -> None:
        self._calls = calls
        self._cluster_state = cluster_state
        self._observe = observe
        self._is_leader = is_leader
        self._now = now
        self._problems = problems
        self._answered = answered
        self._earlier_attempts = earlier_attempts
        self._open = OpenIncidents()
        self._refusals = Refusals(self._report_refusal)
        self._comparisons = Comparisons()
        self._pace = WakePace(self._consider)
        self._queue = WorkQueue()
        self._is_leading = False
        self._admissions: dict[str, _Admission] = {}
        self._verdicts: dict[CheckReference, tuple[int | None, bool | None]] = {}
        self._temporals_skew = timedelta()
        """How far Temporal's clock was ahead of ours at the latest answer."""

    async def lead(self) -> None:
        """Reconcile, start and wake incidents until cancelled, then forget them."""
        self._is_leading = True
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._reconcile_for_ever())
                tasks.create_task(self._compare_for_ever())
                turn, time_slice = asyncio.Lock(), TimeSlice()
                for _ in range(CALLS_AT_ONCE):
                    tasks.create_task(self._call_for_ever(turn, time_slice))
        finally:
            self._is_leading = False
            for entry in self._open.all():
                self._close(entry.incident)
            self._comparisons.clear()
            self._pace.clear()
            self._queue.clear()
            self._refusals.clear()

    def refused(self) -> tuple[str, ...]:
        """The id and the error of each incident that Temporal refuses to start or wake."""
        return self._refusals.sentences

    def is_heard(self, incident: IncidentReference) -> bool:
        """True if the incident is open, and this leader has answered or started it."""
        entry = self._open.get(incident)
        return entry is not None and entry.last_observation is not None

    @property
    def open_incidents(self) -> tuple[OpenIncident, ...]:
        """The known open incidents, with observations as Temporal's clock lets them be answered.

        None while another detector is the leader.
        """
        found = []
        for entry in self._open.all():
            seen = entry.last_observation
            if seen is not None and seen.seen_at is not None:
                seen = by_temporals_clock(seen, seen.seen_at + self._temporals_skew)
            found.append(replace(entry, last_observation=seen))
        return tuple(found)

    # The answers to incidents, and the admissions in them.

    def answer(
        self, incident: IncidentReference, observation: Observation, by_our_clock: Observation, intent: Intent
    ) -> Observation:
        """The answer to a question with this intent: `observation`, with an admission if it gets one.

        Later observations are compared with `by_our_clock`, as Temporal's clock may change `observation`.
        """
        answer = self._answer(incident, observation, intent)
        self._open.put(incident, by_our_clock, self._now())
        self._comparisons.discard(incident)  # it has just got what a comparison would find
        if answer.answered_at is not None and by_our_clock.seen_at is not None:
            self._temporals_skew = answer.answered_at - by_our_clock.seen_at
        return answer

    def _answer(self, incident: IncidentReference, observation: Observation, intent: Intent) -> Observation:
        answer = self._answered(incident, observation, intent)
        self._cluster_state.answered(incident, answer, self._now())
        self._note(incident, answer, intent)
        return answer

    def _note(self, incident: IncidentReference, observation: Observation, intent: Intent) -> None:
        before = self._admission_of(incident).seen_at
        seen_at = admitted_at(observation, would_act=intent.would_act, before=before)
        self._admissions[incident.workflow_id] = _Admission(seen_at, intent)

    def _admission_of(self, incident: IncidentReference) -> _Admission:
        return self._admissions.get(incident.workflow_id, _Admission())

    def _report_refusal(self, incident: IncidentReference, why: str | None) -> None:
        hold = Hold(reason=HoldReason.TEMPORAL_REFUSES, message=f"{REFUSED}: {why}") if why else None
        self._cluster_state.found(incident, hold)

    # The incidents that a change concerns.

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Start or wake the incidents whose answer may have changed, while this detector is the leader."""
        if not self._is_leading:
            return
        if target is not None:
            for incident in self._cluster_state.wanted(check, target) | self._open.of(check, target):
                self._consider(incident)
        elif self._note_verdict(check):
            for entry in self._open.all():
                if entry.incident.check == check:
                    self._consider(entry.incident)

    def _note_verdict(self, check: CheckReference) -> bool:
        """Note the generation of the check and what its threshold allows; returns whether either changed.

        A changed number alone wakes no incident. A check that is fully paused or invalid allows and refuses
        nothing. A deleted check has no generation: its deletion counts once, as it releases all incidents.
        """
        allowance = self._cluster_state.allowance(check)
        check_state, context = self._cluster_state.checks.get(check), self._cluster_state.cluster_context
        is_silent = check_state is None or check_state.is_silent_in(context)
        generation = None if check_state is None else check_state.record.metadata.generation
        says = generation, None if allowance is None or is_silent else allowance.allowed
        before, self._verdicts[check] = self._verdicts.get(check), says
        return before != says

    def _consider(self, incident: IncidentReference) -> None:
        """Compare an incident soon: it may have to be started or woken."""
        if self._is_leading:
            self._comparisons.put(incident, is_open=self._open.get(incident) is not None)

    async def _compare_for_ever(self) -> None:
        time_slice = TimeSlice()
        while True:
            incident = await self._comparisons.get()
            with self._cluster_state.guard.item(CALLS, incident.workflow_id):
                self._compare(incident)
            await time_slice.yield_if_over()

    def _compare(self, incident: IncidentReference) -> None:
        entry = self._open.get(incident)
        last = None if entry is None else entry.last_observation
        if last is None:
            # The call observes it; here only its place in the queue counts.
            self._enqueue(incident, self._seconds_left(incident))
            return
        observation = self._observe(incident)
        admitted = self._admission_of(incident).seen_at
        if not needs_wake_up(last, observation) and not has_late_request(
            last, observation, admitted, ACTED_ON_WITHIN
        ):
            # No news, as if it had been answered: compare the next observation with this one.
            self._open.put(incident, observation, self._now())
            return
        # If the last observation asked for nothing, the wake may have to start the next workflow.
        may_be_start = observation.is_unhealthy and not last.is_unhealthy
        if may_be_start or not self._pace.delays(incident):
            # Overdue incidents are called in the order in which the detector saw them.
            self._enqueue(incident, observation.remaining_seconds)

    def _seconds_left(self, incident: IncidentReference) -> float:
        """Seconds until the deadline of its target; 0 without a deadline, or if it cannot be judged."""
        state = self._cluster_state
        entry = state.checks.get(incident.check)
        target = state.targets.get(incident.check, incident.target.name)
        if entry is None or target is None or entry.check is None:
            return 0.0
        with state.guard.item("answers", incident.full_id):
            now = self._now()
            deadline = entry.check.verdict(target, now, state.cluster_context).deadline
            return 0.0 if deadline is None else max(0.0, (deadline - now).total_seconds())
        return 0.0

    def _enqueue(self, incident: IncidentReference, may_wait_seconds: float) -> None:
        behind_others = REFUSED_SECONDS if self._refusals.has_failed(incident) else 0.0
        self._queue.put(incident, may_wait_seconds + behind_others)

    # The calls to Temporal.

    async def _call_for_ever(self, turn: asyncio.Lock, time_slice: TimeSlice) -> None:
        failures = 0
        while True:
            # Temporal may answer all calls under way at once, and each caller then observes and calls again:
            # other tasks run first if calls had the event loop for too long.
            async with turn:
                await time_slice.yield_if_over()
                incident = await self._queue.get()
            try:
                with self._cluster_state.guard.item(CALLS, incident.workflow_id) as caught:
                    failures = await self._try_to_call(incident, failures)
                if caught.error is not None:
                    # Repeated at its next change, or the next reconciliation; the queue goes on.
                    self._open.put(incident, None, self._now())
            finally:
                self._queue.done(incident)

    async def _try_to_call(self, incident: IncidentReference, failures: int) -> int:
        """Call it; returns how many calls in a row Temporal has not answered.

        A call that Temporal refuses for one incident is repeated later, and does not block other calls.
        """
        try:
            await self.call(incident)
        except RPCError as error:
            if self._refusals.is_refused_after(incident, error):
                asyncio.get_running_loop().call_later(REFUSED_SECONDS, self._consider, incident)
                return 0
            self._problems.report(CALLS, one_sentence(error))
            wait = UNANSWERED.wait(failures + 1, random.random())  # noqa: S311  spreads retries, hides no secret
            await asyncio.sleep(wait.total_seconds())
            self._consider(incident)
            return failures + 1
        self._problems.report(CALLS, None)
        return 0

    async def call(self, incident: IncidentReference) -> None:
        """Start or wake one incident, by its current observation, which is made once."""
        entry = self._open.get(incident)
        if entry is None and not self._is_wanted(incident):
            self._refusals.forget(incident)
            return

        # A new leader asks for each target by its id while the list of all ended remediations is missing.
        if self._earlier_attempts.are_unknown(incident) and self._is_leader() and self._is_wanted(incident):
            self._open.put(incident, entry.last_observation if entry else None, self._now())
            await self._earlier_attempts.ask(incident)
        # A process that was frozen sees the end of its leadership before its tasks are cancelled.
        if not self._is_leader():
            return

        observation, entry = self._observe(incident), self._open.get(incident)
        last, intent = entry.last_observation if entry else None, self._admission_of(incident).intent
        is_started = self._is_wanted(incident) and (last is None or observation.is_unhealthy)
        # Noted before the call: changes during the call are compared with what it says.
        self._open.put(incident, observation, self._now())
        if entry is not None:
            self._pace.note(incident)
        try:
            if is_started:
                answer = self._answer(incident, observation, intent)
                await self._calls.start(incident, answer, self._earlier_attempts.latest(incident))
            else:
                self._note(incident, observation, intent)
                await self._calls.wake(incident)
        except RPCError as error:
            if is_started or error.status is not RPCStatusCode.NOT_FOUND:
                self._open.put(incident, None, self._now())
                raise
            # It has ended. It is started again at once if it has not seen all, else once all is seen.
            self._close(incident)
            if last is None or appeared(last, observation):
                self._reconsider(incident)
            else:
                later = ALL_SEEN.total_seconds()
                asyncio.get_running_loop().call_later(later, self._reconsider, incident)
        self._refusals.succeeded(incident)

    def _is_wanted(self, incident: IncidentReference) -> bool:
        return incident in self._cluster_state.wanted(incident.check, incident.target.name)

    def _reconsider(self, incident: IncidentReference) -> None:
        """Start it again if it is still wanted and not open meanwhile."""
        if self._open.get(incident) is None:
            self._consider(incident)

    # The comparison with the incidents that Temporal lists.

    async def _reconcile_for_ever(self) -> None:
        await self._consider_all(self._cluster_state.all_wanted())
        while True:
            with self._cluster_state.guard.item(CALLS, "reconciliation"):
                self._open.closed.clear()
                listed = await retry_forever(LISTS, self._calls.running, (RPCError,), self._problems)
                running = {each.workflow_id: each.incident for each in listed}
                await self._reconcile(running)
                await self._wake_strangers(running)
            await asyncio.sleep(RECONCILE_EVERY.total_seconds())

    async def _reconcile(self, running: Mapping[str, IncidentReference | None]) -> None:
        """Compare wanted and running incidents by id, in pieces.

        Each incident is looked up at its turn, as it may have been started or closed meanwhile.
        """
        time_slice = TimeSlice()
        for listed_entry in self._open.all():
            entry = self._open.get(listed_entry.incident)
            is_visible = entry is not None and self._now() - entry.since > VISIBLE_AFTER
            if entry is not None and is_visible and entry.incident.workflow_id not in running:
                self._close(entry.incident)
            await time_slice.yield_if_over()
        identified = (incident for incident in running.values() if incident is not None)
        await self._consider_all(incident for incident in identified if self._is_open(incident))
        await self._consider_all(self._cluster_state.all_wanted())

    def _is_open(self, incident: IncidentReference) -> bool:
        """True if a listed incident is open; it may have been closed after the list."""
        if self._open.get(incident) is None:
            if incident.workflow_id in self._open.closed:
                return False
            self._open.put(incident, None, self._now())
        return True

    async def _consider_all(self, incidents: Iterable[IncidentReference]) -> None:
        """Consider these in pieces; incidents that change meanwhile are considered with their change."""
        time_slice = TimeSlice()
        for incident in incidents:
            self._consider(incident)
            await time_slice.yield_if_over()

    async def _wake_strangers(self, running: Mapping[str, IncidentReference | None]) -> None:
        """Wake incidents that were started by hand and have not been answered yet; they then ask."""
        identified = {entry.incident.workflow_id for entry in self._open.all()}
        for workflow_id, incident in running.items():
            if incident is None and workflow_id not in identified:
                with self._cluster_state.guard.item(CALLS, workflow_id), suppress(RPCError):
                    await self._calls.wake_workflow(workflow_id)

    def _close(self, incident: IncidentReference) -> None:
        """Note that it is no longer open, and forget the admission on which it may have been acting."""
        self._open.remove(incident)
        self._pace.forget(incident)
        self._admissions.pop(incident.workflow_id, None)
