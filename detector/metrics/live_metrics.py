"""Metrics that are computed at each scrape from the cluster state and the clock.

A series ends with its object, and a heartbeat costs nothing. Only the leader exports metrics of the cluster,
so that the sum over all detectors is right. A standby exports that it is one, and the age of its caches.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio.service import RPCError

from detector.dispatching.incident_queues import OpenIncident
from detector.state.cluster_state import ClusterState
from health.check.ordered import is_by_order, trigger_of
from health.model.approval import Progress
from health.model.observation import ENDED, HoldReason, Observation, TargetState
from health.policy.limits import StuckSlots
from health.runbook.escalation import Plan
from health.runbook.incident import with_proof_of_requests
from objects.frozen import label
from runtime.task_failures import EVERY_WORKFLOW

COUNT_EVERY_SECONDS = 60.0
AGAIN_SECONDS = 5.0
"""Wait after a question without an answer."""
NO_PROGRESS = Progress()
Ages = Mapping[str, timedelta | None]


class ObservedPhase(StrEnum):
    """The phase of an open incident, by its last answer and the time.

    The detector knows it without a call: it keeps each answer, and whether it is still up to date. The rows
    are those of the runbook (`health.runbook.decide`), as far as they depend on that. Orders of people and
    results of acts are not visible here, so an incident that is left alone is `Admitted` or `Held`.
    """

    WAITING = "Waiting"
    HELD = "Held"
    ADMITTED = "Admitted"
    """It may take its first or next step, and has not yet."""
    REQUESTED = "Requested"
    """A request exists, and its timeout is not over."""
    UNDER_WAY = "UnderWay"
    """The target is being deleted, or is marked for another controller."""
    EXHAUSTED = "Exhausted"
    """Every step failed: nothing more is done before a person resumes it."""
    CLEANING_UP = "CleaningUp"
    UNKNOWN = "Unknown"
    """It could not be started yet, or another detector answered it."""


def observed_phase(
    observation: Observation | None, now: datetime, progress: Progress = NO_PROGRESS
) -> ObservedPhase | None:
    """The phase at `now` of an incident with this last answer; None if nothing is left to do."""
    if observation is None:
        return ObservedPhase.UNKNOWN
    observation = with_proof_of_requests(observation)
    if observation.state in ENDED:
        return ObservedPhase.CLEANING_UP if observation.requests else None
    if observation.under_way:
        return ObservedPhase.UNDER_WAY
    if observation.requests and observation.state is TargetState.UNKNOWN:
        return ObservedPhase.REQUESTED  # its steps are not known, so its remediator goes on
    if observation.requests or (progress.spent and observation.state is TargetState.EXPIRED):
        plan = Plan(observation.steps, progress.spent, progress.skipped)
        steps = plan.progress(observation.requests, now)
        if steps.is_exhausted:
            return ObservedPhase.EXHAUSTED
        if steps.running is not None:
            return ObservedPhase.REQUESTED
    if observation.state is TargetState.WAITING:
        return ObservedPhase.WAITING
    return ObservedPhase.ADMITTED if observation.hold is None else ObservedPhase.HELD


def observed_hold(
    observation: Observation | None, now: datetime, progress: Progress = NO_PROGRESS
) -> str | None:
    """The label of the hold at `now` of an incident with this last answer; None without a hold."""
    if (
        observation is None
        or observation.hold is None
        or observed_phase(observation, now, progress) is not ObservedPhase.HELD
    ):
        return None
    return label(observation.hold.reason, HoldReason)


class LiveMetrics(Collector):
    """The gauges of cluster state and incidents, for one detector."""

    def __init__(
        self,
        cluster_state: ClusterState,
        ages: Callable[[], Ages],
        open_incidents: Callable[[], Iterable[OpenIncident]],
        is_leader: Callable[[], bool],
        now: Callable[[], datetime],
    ) -> None:
        self._cluster_state = cluster_state
        self._ages = ages
        self._open_incidents = open_incidents
        self._is_leader = is_leader
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        is_leader, state, context = (
            self._is_leader(),
            self._cluster_state,
            self._cluster_state.cluster_context,
        )
        yield GaugeMetricFamily("paramedic_leader", "1 while this detector is the leader.", value=is_leader)
        text = "Time since the last activity of a watch; +Inf before its first complete list."
        ages = (
            ((source,), inf if age is None else age.total_seconds()) for source, age in self._ages().items()
        )
        yield _gauge("paramedic_cache_age_seconds", text, ("source",), ages)
        if not is_leader:
            return

        # Checks.
        text = "Health checks by kind and by the phase of their status."
        phases = Counter(
            (reference.kind_name, str(check.record.status.get("phase", "")))
            for reference, check in state.checks.items()
        )
        yield _gauge("paramedic_checks", text, ("kind", "phase"), sorted(phases.items()))
        yield from self._of_incidents()
        text = "1 while the policy is invalid, or required and missing."
        yield GaugeMetricFamily("paramedic_policy_invalid", text, value=bool(context.policy.rejection))
        text = "Checks for which nothing is written, by kind."
        in_shadow: Counter[tuple[str, ...]] = Counter()
        for reference, check in state.checks.items():
            in_shadow[(reference.kind_name,)] += check.is_shadow_in(context)
        yield _gauge("paramedic_checks_in_shadow", text, ("kind",), sorted(in_shadow.items()))
        text = "1 while the outage guard suspects an outage in a cluster or one of its domains."
        groups = sorted((outage.group for outage in context.outages.suspected), key=lambda group: group.key)
        suspected = (((group.cluster, group.domain), 1) for group in groups)
        yield _gauge("paramedic_suspected_outage", text, ("cluster", "domain"), suspected)

    def _of_incidents(self) -> Iterator[GaugeMetricFamily]:
        """The open incidents by phase and by hold, as of the latest answer to each."""
        state, now = self._cluster_state, self._now()
        # An existing check has all its series, so that an alert can tell zero from missing data.
        phases = Counter({(str(check), phase): 0 for check in state.checks for phase in ObservedPhase})
        holds: Counter[tuple[str, ...]] = Counter()
        for entry in self._open_incidents():
            check, target, observation = entry.incident.check, entry.incident.target, entry.last_observation
            progress = state.progress.of(check, target.name, target.uid)
            phase = observed_phase(observation, now, progress)
            if phase is not None:
                phases[str(check), phase] += 1
            reason = observed_hold(observation, now, progress)
            if observation is not None and reason is not None:
                holds[str(check), reason, trigger_of(is_ordered=is_by_order(observation.fact))] += 1
        text = "Open incidents by check and phase, as of the latest answer to each."
        yield _gauge("paramedic_open_incidents", text, ("check", "phase"), sorted(phases.items()))
        text = "Targets that are held now, by check, reason and trigger, as of the latest answers."
        yield _gauge("paramedic_holds", text, ("check", "reason", "trigger"), sorted(holds.items()))


def _gauge(
    name: str, text: str, labels: Sequence[str], samples: Iterable[tuple[Sequence[str], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


class ClockMetrics(Collector):
    """The gauge of the clock's skew, exported by leader and standbys."""

    def __init__(self, skew: Callable[[], timedelta | None]) -> None:
        self._skew = skew

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return no sample while the API server sends no time."""
        text = "How far the detector's clock is ahead of the API server's, which sends whole seconds."
        family = GaugeMetricFamily("paramedic_clock_skew_seconds", text, labels=())
        skew = self._skew()
        if skew is not None:
            family.add_metric((), skew.total_seconds())
        yield family


class LimitMetrics(Collector):
    """The gauge of stuck slots, for one detector."""

    def __init__(
        self, stuck_slots: Callable[[], tuple[StuckSlots, ...] | None], is_leader: Callable[[], bool]
    ) -> None:
        self._stuck_slots = stuck_slots
        self._is_leader = is_leader

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return one sample for each limit with stuck slots."""
        text = "Remediations under way for over an hour that keep a limit full while targets wait."
        found = (self._stuck_slots() or ()) if self._is_leader() else ()
        samples = (((stuck.limit,), len(stuck.holders)) for stuck in found)
        yield _gauge("paramedic_stuck_slots", text, ("limit",), samples)


@dataclass(eq=False)  # a registry keeps it by its identity
class FailingWorkflows(Collector):
    """The gauges of open workflows whose workflow tasks fail: the leader asks Temporal once a minute.

    No process of ours sees all of them: a failing workflow asks nothing, and its worker logs no error.
    Without an answer of Temporal there is no series.

    `counts` asks Temporal for the number of failing workflows by type, without types that Temporal does not
    report; it raises RPCError.
    """

    counts: Callable[[], Awaitable[Mapping[str, int]]]
    _counts: Mapping[str, int] = field(default_factory=dict, init=False)

    async def lead(self) -> None:
        try:
            while True:
                wait = COUNT_EVERY_SECONDS
                try:
                    self._counts = await self.counts()
                except RPCError:  # TemporalLink reports an outage
                    self._counts, wait = {}, AGAIN_SECONDS
                await asyncio.sleep(wait)
        finally:
            self._counts = {}

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the latest counts; no series before the first answer."""
        for workflow_type, (name, subject) in EVERY_WORKFLOW.items():
            if workflow_type in self._counts:
                text = f"{subject} whose workflow task fails repeatedly, as Temporal reports."
                yield GaugeMetricFamily(name, text, value=self._counts[workflow_type])
