"""Dispatch: finds the incidents that a change of the cluster concerns, and records their answers."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.open_workflows import OpenWorkflow, OpenWorkflows
from detector.dispatching.reconciler import Reconciler, ReconcilerDependencies
from detector.state.cluster_state import ClusterState
from health.cluster.clock_skew import by_temporals_clock
from health.model.admission import Intent
from health.model.observation import Hold, HoldReason, Observation
from health.model.references import CheckReference, IncidentReference
from health.runbook.wake_up import admitted_at, appeared, has_late_request, needs_wake_up
from runtime.problems import Problems
from workflows.contracts import FRESH
from workflows.messages import EarlierAttempt

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


OpenIncident = OpenWorkflow[IncidentReference, Observation]
OpenIncidents = OpenWorkflows[IncidentReference, Observation]


def subject_of(incident: IncidentReference) -> Hashable:
    """The check and the name of the target."""
    return incident.check, incident.target.name


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
        self._cluster_state = cluster_state
        self._now = now
        self._calls = calls
        self._observe = observe
        self._answered = answered
        self._earlier_attempts = earlier_attempts
        self._admissions: dict[str, _Admission] = {}
        self._open: OpenIncidents = OpenWorkflows(subject_of)
        dependencies = ReconcilerDependencies(is_leader, now, cluster_state.guard, problems)
        self._reconciler = Reconciler(self, self._open, dependencies, report_refusal=self._report_refusal)
        self._verdicts: dict[CheckReference, tuple[int | None, bool | None]] = {}
        self._temporals_skew = timedelta()
        """How far Temporal's clock was ahead of ours at the latest answer."""

    async def lead(self) -> None:
        await self._reconciler.lead()

    def refused(self) -> tuple[str, ...]:
        """The id and the error of each incident that Temporal refuses to start or wake."""
        return self._reconciler.refusals.sentences

    def _report_refusal(self, incident: IncidentReference, why: str) -> None:
        hold = Hold(reason=HoldReason.TEMPORAL_REFUSES, message=f"{REFUSED}: {why}") if why else None
        self._cluster_state.found(incident, hold)

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

    def answer(
        self, incident: IncidentReference, observation: Observation, by_our_clock: Observation, intent: Intent
    ) -> Observation:
        """The answer to a question with this intent: `observation`, with an admission if it gets one.

        Later observations are compared with `by_our_clock`, as Temporal's clock may change `observation`.
        """
        answer = self._answer(incident, observation, intent)
        self._open.put(incident, by_our_clock, self._now())
        if answer.answered_at is not None and by_our_clock.seen_at is not None:
            self._temporals_skew = answer.answered_at - by_our_clock.seen_at
        return answer

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Start or wake the incidents whose answer may have changed, while this detector is the leader."""
        if not self._reconciler.is_leading:
            return
        if target is not None:
            for incident in self._cluster_state.wanted(check, target) | self._open.of((check, target)):
                self._reconciler.consider(incident)
        elif self._note_verdict(check):
            for entry in self._open.all():
                if entry.key.check == check:
                    self._reconciler.consider(entry.key)

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

    # The methods of `Workflows`, which the Reconciler calls.

    def all_wanted(self) -> Iterable[IncidentReference]:
        return self._cluster_state.all_wanted()

    def is_wanted(self, key: IncidentReference) -> bool:
        return key in self._cluster_state.wanted(key.check, key.target.name)

    def observe(self, key: IncidentReference) -> Observation:
        return self._observe(key)

    def may_wait_seconds(self, observation: Observation) -> float:
        """Until the deadline; overdue incidents are called in the order in which the detector saw them."""
        return observation.remaining_seconds

    def needs_wake_up(self, key: IncidentReference, last: Observation, observation: Observation) -> bool:
        """True if the answer changed, or a request appeared that its own act did not make."""
        admitted = self._admission_of(key).seen_at
        return needs_wake_up(last, observation) or has_late_request(
            last, observation, admitted, ACTED_ON_WITHIN
        )

    def must_be_open(self, observation: Observation) -> bool:
        """True if the target is unhealthy, so that the start must not wait."""
        return observation.is_unhealthy

    def has_appeared(self, last: Observation, observation: Observation) -> bool:
        """True if a request appeared after the observation `last`."""
        return bool(appeared(last, observation))

    async def start(self, key: IncidentReference, observation: Observation) -> None:
        """Start it with `observation` as the answer to its first question.

        A new leader asks for each target by its id while the list of all ended remediations is missing.
        """
        if self._earlier_attempts.are_unknown(key):
            await self._earlier_attempts.ask(key)
            observation = self._observe(key)
        answer = self._answer(key, observation, self._admission_of(key).intent)
        await self._calls.start(key, answer, self._earlier_attempts.latest(key))

    async def wake(self, key: IncidentReference, observation: Observation) -> None:
        """Wake it; it then asks by itself."""
        self._note(key, observation, self._admission_of(key).intent)
        await self._calls.wake(key)

    async def wake_unidentified(self, workflow_id: str) -> None:
        """Wake an incident that was started by hand."""
        await self._calls.wake_workflow(workflow_id)

    async def running(self) -> Mapping[str, IncidentReference | None]:
        """The open incidents of this cluster by workflow id; None for one without a readable memo."""
        return {workflow.workflow_id: workflow.incident for workflow in await self._calls.running()}

    def _answer(self, incident: IncidentReference, observation: Observation, intent: Intent) -> Observation:
        answer = self._answered(incident, observation, intent)
        self._cluster_state.answered(incident, answer, self._now())
        self._note(incident, answer, intent)
        return answer

    def _note(self, incident: IncidentReference, observation: Observation, intent: Intent) -> None:
        before = self._admission_of(incident).seen_at
        seen_at = admitted_at(observation, would_act=intent.would_act, before=before)
        self._admissions[incident.workflow_id] = _Admission(seen_at, intent)

    def has_closed(self, key: IncidentReference) -> None:
        """Forget the admission on which the incident may have been acting."""
        self._admissions.pop(key.workflow_id, None)

    def _admission_of(self, incident: IncidentReference) -> _Admission:
        return self._admissions.get(incident.workflow_id, _Admission())
