"""Metrics that are computed at each scrape from the cluster state and the clock.

A series ends with its object, and a heartbeat costs nothing. Only the leader exports metrics of the cluster,
so that the sum over all detectors is right. A standby exports that it is one, and the age of its caches.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from math import inf

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from detector.dispatching.dispatch import OpenIncident
from detector.metrics.observed_phase import ObservedPhase, observed_hold, observed_phase
from detector.state.cluster_state import ClusterState
from health.check.ordered import is_by_order, trigger_of

Ages = Mapping[str, timedelta | None]


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
            yield _holds(incidents, now)
            yield _policy(self._cluster_state)
            yield _in_shadow(self._cluster_state)
            yield _outages(self._cluster_state)


def _source_ages(ages: Ages) -> GaugeMetricFamily:
    text = "Time since the last activity of a watch; +Inf before its first complete list."
    family = GaugeMetricFamily("paramedic_cache_age_seconds", text, labels=("source",))
    for source, age in ages.items():
        family.add_metric((source,), inf if age is None else age.total_seconds())
    return family


def _checks(cluster_state: ClusterState) -> GaugeMetricFamily:
    text = "Health checks by kind and by the phase of their status."
    family = GaugeMetricFamily("paramedic_checks", text, labels=("kind", "phase"))
    phases = (
        (reference.kind_name, str(check.record.status.get("phase", "")))
        for reference, check in cluster_state.checks.items()
    )
    for labels, number in sorted(Counter(phases).items()):
        family.add_metric(labels, number)
    return family


def _policy(cluster_state: ClusterState) -> GaugeMetricFamily:
    text = "1 while the policy is invalid, or required and missing."
    is_refused = bool(cluster_state.cluster_context.policy.rejection)
    return GaugeMetricFamily("paramedic_policy_invalid", text, value=is_refused)


def _in_shadow(cluster_state: ClusterState) -> GaugeMetricFamily:
    text = "Checks for which nothing is written, by kind."
    family = GaugeMetricFamily("paramedic_checks_in_shadow", text, labels=("kind",))
    context = cluster_state.cluster_context
    found = Counter({reference.kind_name: 0 for reference in cluster_state.checks})
    for reference, check in cluster_state.checks.items():
        found[reference.kind_name] += check.is_shadow_in(context)
    for kind, number in sorted(found.items()):
        family.add_metric((kind,), number)
    return family


def _outages(cluster_state: ClusterState) -> GaugeMetricFamily:
    text = "1 while the outage guard suspects an outage in a cluster or one of its zones."
    family = GaugeMetricFamily("paramedic_suspected_outage", text, labels=("cluster", "zone"))
    for outage in sorted(cluster_state.cluster_context.outages.suspected, key=lambda one: one.group):
        family.add_metric(outage.group, 1)
    return family


def _incidents(
    cluster_state: ClusterState, incidents: Iterable[OpenIncident], now: datetime
) -> GaugeMetricFamily:
    text = "Open incidents by check and phase, as of the latest answer to each."
    family = GaugeMetricFamily("paramedic_open_incidents", text, labels=("check", "phase"))
    # An existing check has all its series, so that an alert can tell zero from missing data.
    found = Counter({(str(check), phase): 0 for check in cluster_state.checks for phase in ObservedPhase})
    for entry in incidents:
        phase = observed_phase(entry.last_observation, now)
        if phase is not None:
            found[str(entry.key.check), phase] += 1
    for labels, number in sorted(found.items()):
        family.add_metric(labels, number)
    return family


def _holds(incidents: Iterable[OpenIncident], now: datetime) -> GaugeMetricFamily:
    text = "Targets that are held now, by check, reason and trigger, as of the latest answers."
    family = GaugeMetricFamily("paramedic_holds", text, labels=("check", "reason", "trigger"))
    found: Counter[tuple[str, ...]] = Counter()
    for entry in incidents:
        observation = entry.last_observation
        reason = observed_hold(observation, now)
        if observation is not None and reason is not None:
            trigger = trigger_of(is_ordered=is_by_order(observation.fact))
            found[str(entry.key.check), reason, trigger] += 1
    for labels, number in sorted(found.items()):
        family.add_metric(labels, number)
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
