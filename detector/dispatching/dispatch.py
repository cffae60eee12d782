"""Dispatch: finds the incidents that a change of the cluster concerns, and records their answers."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import datetime, timedelta

from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.incident_workflows import Answered, IncidentWorkflows, Observe
from detector.dispatching.open_workflows import OpenWorkflow, OpenWorkflows
from detector.dispatching.reconciler import Reconciler, ReconcilerDependencies
from detector.state.cluster_state import ClusterState
from health.cluster.clock_skew import by_temporals_clock
from health.model.admission import Intent
from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference
from runtime.problems import Problems

OpenIncident = OpenWorkflow[IncidentReference, Observation]
OpenIncidents = OpenWorkflows[IncidentReference, Observation]


def subject_of(incident: IncidentReference) -> Hashable:
    """The check and the name of the target."""
    return incident.check, incident.target.name


class Dispatch:
    """Starts and wakes the incidents of one cluster, while this detector is the leader."""

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
    ) -> None:
        self._cluster_state = cluster_state
        self._now = now
        self._workflows = IncidentWorkflows(calls, cluster_state, observe, answered)
        self._open: OpenIncidents = OpenWorkflows(subject_of)
        dependencies = ReconcilerDependencies(is_leader, now, cluster_state.guard, problems)
        self._reconciler = Reconciler(
            self._workflows, self._open, dependencies, part="dispatch", listed="incidents"
        )
        self._said: dict[CheckReference, bool | None] = {}
        self._temporals_skew = timedelta()
        """How far Temporal's clock was ahead of ours at the latest answer."""

    async def lead(self) -> None:
        await self._reconciler.lead()

    @property
    def open_incidents(self) -> tuple[OpenIncident, ...]:
        """The known open incidents, with observations as Temporal's clock lets them be answered.

        None while another detector is the leader.
        """
        return tuple(
            replace(entry, last_observation=self._by_temporals_clock(entry.last_observation))
            for entry in self._open.all()
        )

    def _by_temporals_clock(self, observation: Observation | None) -> Observation | None:
        if observation is None or observation.seen_at is None:
            return observation
        return by_temporals_clock(observation, observation.seen_at + self._temporals_skew)

    def answer(
        self, incident: IncidentReference, observation: Observation, seen: Observation, intent: Intent
    ) -> Observation:
        """The answer to a question with this intent: `observation`, with an admission if it gets one.

        Later observations are compared with `seen`, as Temporal's clock may change `observation`.
        """
        answer = self._workflows.answer(incident, observation, intent)
        self._open.put(incident, seen, self._now())
        if answer.answered_at is not None and seen.seen_at is not None:
            self._temporals_skew = answer.answered_at - seen.seen_at
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
        """Note what the check's threshold allows all its incidents; returns whether that changed.

        A changed number alone wakes no incident. A check that is fully paused or invalid allows and refuses
        nothing.
        """
        allowance = self._cluster_state.allowance(check)
        check_state, context = self._cluster_state.checks.get(check), self._cluster_state.cluster_context
        is_silent = check_state is None or check_state.is_silent_in(context)
        says = None if allowance is None or is_silent else allowance.allowed
        before, self._said[check] = self._said.get(check), says
        return before != says
