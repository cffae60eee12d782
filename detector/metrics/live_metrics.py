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

from detector.dispatching.dispatch import OpenIncident
from detector.state.cluster_state import ClusterState
from health.check.ordered import is_by_order, trigger_of
from health.model.approval import Progress
from health.model.observation import ENDED, HoldReason, Observation, TargetState
from health.policy.limits import StuckSlots
from health.runbook.escalation import Plan
from health.runbook.recovery import with_proof_of_requests
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
    has_begun = observation.requests or (progress.spent and observation.state is TargetState.EXPIRED)
    of_steps = _by_steps(observation, now, progress) if has_begun else None
    if of_steps is not None:
        return of_steps
    if observation.state is TargetState.WAITING:
        return ObservedPhase.WAITING
    return ObservedPhase.ADMITTED if observation.hold is None else ObservedPhase.HELD


def _by_steps(observation: Observation, now: datetime, progress: Progress) -> ObservedPhase | None:
    """The phase by the steps that were tried; None if all of them are over, and the next step is due."""
    if observation.state is TargetState.UNKNOWN:
        return ObservedPhase.REQUESTED  # its steps are not known, so its remediator goes on
    course = Plan(observation.steps, progress.spent, progress.skipped).course(observation.requests, now)
    if course.is_exhausted:
        return ObservedPhase.EXHAUSTED
    return None if course.running is None else ObservedPhase.REQUESTED


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
        is_leader = self._is_leader()
        yield GaugeMetricFamily("paramedic_leader", "1 while this detector is the leader.", value=is_leader)
        yield _source_ages(self._ages())
        if is_leader:
            incidents, now = tuple(self._open_incidents()), self._now()
            yield _checks(self._cluster_state)
            yield _incidents(self._cluster_state, incidents, now)
            yield _holds(self._cluster_state, incidents, now)
            yield _policy(self._cluster_state)
            yield _in_shadow(self._cluster_state)
            yield _outages(self._cluster_state)


def _gauge(
    name: str, text: str, labels: Sequence[str], samples: Iterable[tuple[Sequence[str], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _source_ages(ages: Ages) -> GaugeMetricFamily:
    text = "Time since the last activity of a watch; +Inf before its first complete list."
    found = (((source,), inf if age is None else age.total_seconds()) for source, age in ages.items())
    return _gauge("paramedic_cache_age_seconds", text, ("source",), found)


def _checks(cluster_state: ClusterState) -> GaugeMetricFamily:
    text = "Health checks by kind and by the phase of their status."
    phases = (
        (reference.kind_name, str(check.record.status.get("phase", "")))
        for reference, check in cluster_state.checks.items()
    )
    return _gauge("paramedic_checks", text, ("kind", "phase"), sorted(Counter(phases).items()))


def _policy(cluster_state: ClusterState) -> GaugeMetricFamily:
    text = "1 while the policy is invalid, or required and missing."
    is_refused = bool(cluster_state.cluster_context.policy.rejection)
    return GaugeMetricFamily("paramedic_policy_invalid", text, value=is_refused)


def _in_shadow(cluster_state: ClusterState) -> GaugeMetricFamily:
    text = "Checks for which nothing is written, by kind."
    context = cluster_state.cluster_context
    found = Counter({(reference.kind_name,): 0 for reference in cluster_state.checks})
    for reference, check in cluster_state.checks.items():
        found[(reference.kind_name,)] += check.is_shadow_in(context)
    return _gauge("paramedic_checks_in_shadow", text, ("kind",), sorted(found.items()))


def _outages(cluster_state: ClusterState) -> GaugeMetricFamily:
    text = "1 while the outage guard suspects an outage in a cluster or one of its domains."
    suspected = (outage.group for outage in cluster_state.cluster_context.outages.suspected)
    groups = sorted(suspected, key=lambda group: group.key)
    found = (((group.cluster, group.domain), 1) for group in groups)
    return _gauge("paramedic_suspected_outage", text, ("cluster", "domain"), found)


def _incidents(
    cluster_state: ClusterState, incidents: Iterable[OpenIncident], now: datetime
) -> GaugeMetricFamily:
    text = "Open incidents by check and phase, as of the latest answer to each."
    # An existing check has all its series, so that an alert can tell zero from missing data.
    found = Counter({(str(check), phase): 0 for check in cluster_state.checks for phase in ObservedPhase})
    for entry in incidents:
        phase = observed_phase(entry.last_observation, now, _progress(cluster_state, entry))
        if phase is not None:
            found[str(entry.key.check), phase] += 1
    return _gauge("paramedic_open_incidents", text, ("check", "phase"), sorted(found.items()))


def _progress(cluster_state: ClusterState, entry: OpenIncident) -> Progress:
    target = entry.key.target
    return cluster_state.progress.of(entry.key.check, target.name, target.uid)


def _holds(
    cluster_state: ClusterState, incidents: Iterable[OpenIncident], now: datetime
) -> GaugeMetricFamily:
    text = "Targets that are held now, by check, reason and trigger, as of the latest answers."
    found: Counter[tuple[str, ...]] = Counter()
    for entry in incidents:
        observation = entry.last_observation
        reason = observed_hold(observation, now, _progress(cluster_state, entry))
        if observation is not None and reason is not None:
            trigger = trigger_of(is_ordered=is_by_order(observation.fact))
            found[str(entry.key.check), reason, trigger] += 1
    return _gauge("paramedic_holds", text, ("check", "reason", "trigger"), sorted(found.items()))


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
                wait = await self._count()
                await asyncio.sleep(wait)
        finally:
            self._counts = {}

    async def _count(self) -> float:
        """Count; returns the seconds until the next count."""
        try:
            self._counts = await self.counts()
        except RPCError:  # TemporalLink reports an outage
            self._counts = {}
            return AGAIN_SECONDS
        return COUNT_EVERY_SECONDS

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the latest counts; no series before the first answer."""
        for workflow_type, (name, subject) in EVERY_WORKFLOW.items():
            if workflow_type in self._counts:
                text = f"{subject} whose workflow task fails repeatedly, as Temporal reports."
                yield GaugeMetricFamily(name, text, value=self._counts[workflow_type])
