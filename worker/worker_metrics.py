"""WorkerMetrics: counts ended incidents, acts, evidence, failed maintenance tasks, and long upgrades.

All known series exist from the start, with the value 0: Prometheus sees no increase in a series that begins
at 1.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import product
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Histogram

from activities.notifications import DeliveryProblem
from activities.registry import KIND_ACTIVITIES
from health.check.ordered import Trigger, trigger_of
from health.kinds.registry import CHECK_KINDS
from health.model.incident_result import IncidentResult
from health.model.moves import Outcome
from health.model.observation import HoldReason
from health.model.references import CheckReference, kind_name
from health.model.request_snapshot import RequestSnapshot
from health.runbook.failures import MaintenanceTask
from health.runbook.memory_parts import Part, RequestDelay
from objects.frozen import OTHER
from workflows.notification import Delivery

REQUESTED, DONE, HELD, FAILED, LOST = "Requested", "Done", "Held", "Failed", "Lost"
REFUSED = "Refused"
SAVED, NOT_SAVED = "Saved", "NotSaved"
GIVEN_UP = "GivenUp"
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


# Name, description and labels of each metric.
REQUEST_DELAY = (
    "paramedic_request_delay_seconds",
    "Time from a failure, or an order, to its first request, by the part that it was spent in.",
    ("check_kind", "part", "trigger"),
)
RECOVERY = (
    "paramedic_failure_to_recovery_seconds",
    "Time from a failure, or an order, to the recovery of the target.",
    ("check", "outcome", "trigger"),
)
STEP_RECOVERY = (
    "paramedic_step_to_recovery_seconds",
    "Time from the request of a step to the recovery of the target.",
    ("check", "step", "trigger"),
)
INCIDENTS = (
    "paramedic_incidents",
    "Incidents that ended, by their outcome.",
    ("check_kind", "outcome", "trigger"),
)
ACTS = (
    "paramedic_acts",
    "Attempts to take a step, by their result; the reason says why a step was held.",
    ("result", "reason"),
)
TASK_FAILURES = (
    "paramedic_maintenance_failures",
    "Operations beside steps (annotate, renew, delete, release) that failed and are retried.",
    ("task", "reason"),
)
EVIDENCE = (
    "paramedic_evidence",
    "Attempts to save evidence before a first step, by their result.",
    ("result",),
)
LONG_UPGRADES = (
    "paramedic_long_upgrades",
    "Upgrades of the cluster that take longer than the limit while checks are paused for them.",
)
NOTIFICATIONS = (
    "paramedic_notifications",
    "Notifications to receivers of the policy that ended, by their result.",
    ("result",),
)
NOTIFICATION_FAILURES = (
    "paramedic_notification_failures",
    "Attempts to deliver a notification that failed and are retried, by their problem.",
    ("problem",),
)


class IncidentTimes:
    """The time from failure to request by parts, and the time to recovery, as histograms of one process.

    The parts are counted by the activity `act`, and recoveries when the workflow of an incident ends, never
    in a replay. Check and step are labels, and both are names that users choose: after `MOST_NAMES` pairs,
    all others count as `Other`. A check has its series from its first incident on and a step from its first
    request on, because Prometheus sees no increase in a series that begins at 1.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._delays = Histogram(*REQUEST_DELAY, buckets=DELAYS, registry=registry)
        self._recoveries = Histogram(*RECOVERY, buckets=RECOVERIES, registry=registry)
        self._step_recoveries = Histogram(*STEP_RECOVERY, buckets=RECOVERIES, registry=registry)
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


class WorkerMetrics:
    """The counters of one worker process, in its registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.times = IncidentTimes(registry)
        self._incidents = Counter(*INCIDENTS, registry=registry)
        self.acts = Counter(*ACTS, registry=registry)
        self.task_failures = Counter(*TASK_FAILURES, registry=registry)
        self.evidence = Counter(*EVIDENCE, registry=registry)
        self.long_upgrades = Counter(*LONG_UPGRADES, registry=registry)
        self._notifications = Counter(*NOTIFICATIONS, registry=registry)
        self.notification_failures = Counter(*NOTIFICATION_FAILURES, registry=registry)
        self._deletions = {
            kind: Counter(*activities.deletions, ("name", "namespace"), registry=registry)
            for kind, activities in KIND_ACTIVITIES.items()
            if activities.deletions is not None
        }
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        for result in (REQUESTED, DONE, LOST, FAILED):
            self.acts.labels(result, "")
        for hold_reason in HoldReason:
            self.acts.labels(HELD, hold_reason)
        for result in (SAVED, NOT_SAVED):
            self.evidence.labels(result)
        for result in (*Delivery, GIVEN_UP):
            self._notifications.labels(result)
        for problem in DeliveryProblem:
            self.notification_failures.labels(problem)
        for task in MaintenanceTask:
            for reason in (FAILED, REFUSED):
                self.task_failures.labels(task, reason)
        for kind in map(kind_name, CHECK_KINDS):
            for outcome, trigger in product(Outcome, Trigger):
                self._incidents.labels(kind, outcome, trigger)

    def incident_began(self, check: CheckReference) -> None:
        """Create the series of the check with the value 0; a second call changes nothing."""
        self.times.incident_began(check)
        if check.group_kind in self._deletions:
            self._deletions[check.group_kind].labels(check.name, check.namespace)

    def incident_ended(self, check: CheckReference, result: IncidentResult) -> None:
        """Count an ended incident. Workflows run in threads: the metrics have locks."""
        trigger = trigger_of(is_ordered=result.ordered is not None)
        self._incidents.labels(check.kind_name, result.outcome, trigger).inc()
        self.times.incident_ended(check, result)

    def target_deleted(self, check: CheckReference) -> None:
        """Count a requested deletion, if its kind counts them."""
        if check.group_kind in self._deletions:
            self._deletions[check.group_kind].labels(check.name, check.namespace).inc()

    def notification_ended(self, result: str) -> None:
        """Count one notification to one receiver, at the end of its workflow."""
        self._notifications.labels(result).inc()
