"""IncidentTimes: histograms of the time from failure to request by parts, and of the time to recovery.

The parts are counted by the activity `act`, and recoveries when the workflow of an incident ends, never in a
replay. Check and step are labels, and both are names that users choose: after `MOST_NAMES` pairs, all others
count as `Other`. A check has its series from its first incident on and a step from its first request on,
because Prometheus sees no increase in a series that begins at 1.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import product
from threading import Lock

from prometheus_client import CollectorRegistry, Histogram

from health.check.ordered import Trigger, trigger_of
from health.kinds.registry import CHECK_KINDS
from health.model.incident_result import IncidentResult
from health.model.kind_names import kind_name
from health.model.moves import Outcome
from health.model.references import CheckReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.delays import Part, RequestDelay
from objects.frozen import OTHER

MOST_NAMES = 200
"""The most pairs of check and step; each has a series for each bucket."""
DELETION = "delete"
DELAYS = (1, 2, 3, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400)
RECOVERED_BY = (
    (Outcome.RECOVERED, Trigger.AUTOMATED),
    (Outcome.REMEDIATED, Trigger.AUTOMATED),
    (Outcome.REMEDIATED, Trigger.MANUAL),
)
"""The recoveries that are counted. A target that a person ordered to be remediated looked healthy before."""
RECOVERIES = (15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400)


class IncidentTimes:
    """The histograms of one worker process, in its registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._delays = _delays(registry)
        self._recoveries = _recoveries(registry)
        self._step_recoveries = _step_recoveries(registry)
        self._names: set[tuple[str, str]] = set()
        self._lock = Lock()
        for kind in map(kind_name, CHECK_KINDS):
            for part, trigger in product(Part, Trigger):
                self._delays.labels(kind, part, trigger)

    def remediation_requested(self, check_kind: str, delay: RequestDelay, requested: datetime) -> None:
        for part, seconds in delay.parts(requested).items():
            self._delays.labels(check_kind, part, delay.trigger).observe(seconds)

    def incident_began(self, check: CheckReference) -> None:
        """Create the series of recoveries of the check, with 0 recoveries."""
        name, _ = self._named(str(check), "")
        for outcome, trigger in RECOVERED_BY:
            self._recoveries.labels(name, outcome, trigger)

    def step_taken(self, check: CheckReference, request: RequestSnapshot | None) -> None:
        """Create the series of the step, with 0 recoveries; without a request it is a deletion or a mark."""
        step = DELETION if request is None else _step(str(request.reference), request.reference.template)
        names = self._named(str(check), step)
        for trigger in Trigger:
            self._step_recoveries.labels(*names, trigger)

    def incident_ended(self, check: CheckReference, result: IncidentResult) -> None:
        """Count the recovery, if the incident ended with one."""
        trigger = trigger_of(is_ordered=result.ordered is not None)
        if result.recovered is None or result.failed is None:
            return
        if (result.outcome, trigger) not in RECOVERED_BY:
            return
        name, _ = self._named(str(check), "")
        seconds = (result.recovered - result.failed).total_seconds()
        self._recoveries.labels(name, result.outcome, trigger).observe(max(0.0, seconds))
        for step, took in _steps(result, result.recovered):
            labels = (*self._named(str(check), step), trigger)
            self._step_recoveries.labels(*labels).observe(max(0.0, took))

    def _named(self, check: str, step: str) -> tuple[str, str]:
        pair = check, step
        with self._lock:
            if pair not in self._names and len(self._names) >= MOST_NAMES:
                return OTHER, OTHER
            self._names.add(pair)
        return pair


def _steps(result: IncidentResult, recovered: datetime) -> Iterator[tuple[str, float]]:
    """Each step, with the seconds from its request to the recovery."""
    for record in result.requests:
        yield _step(record.request, record.template), (recovered - record.started).total_seconds()
    if result.deleted is not None:
        yield DELETION, (recovered - result.deleted).total_seconds()


def _step(request: str, template: str) -> str:
    """The kind of the request and the name of its template, as `paramedic skip --step` takes them."""
    kind = request.partition("/")[0]
    return f"{kind}/{template}" if template else kind


def _delays(registry: CollectorRegistry) -> Histogram:
    return Histogram(
        "paramedic_request_delay_seconds",
        "Time from a failure, or an order, to its first request, by the part that it was spent in.",
        ("check_kind", "part", "trigger"),
        buckets=DELAYS,
        registry=registry,
    )


def _recoveries(registry: CollectorRegistry) -> Histogram:
    return Histogram(
        "paramedic_failure_to_recovery_seconds",
        "Time from a failure, or an order, to the recovery of the target.",
        ("check", "outcome", "trigger"),
        buckets=RECOVERIES,
        registry=registry,
    )


def _step_recoveries(registry: CollectorRegistry) -> Histogram:
    return Histogram(
        "paramedic_step_to_recovery_seconds",
        "Time from the request of a step to the recovery of the target.",
        ("check", "step", "trigger"),
        buckets=RECOVERIES,
        registry=registry,
    )
