"""WorkerMetrics: counts ended incidents, acts, evidence, failed maintenance tasks, and long upgrades.

All known series exist from the start, with the value 0: Prometheus sees no increase in a series that begins
at 1.
"""

from itertools import product

from prometheus_client import CollectorRegistry, Counter

from activities.notifications.delivery_failure import DeliveryProblem
from activities.registry import KIND_ACTIVITIES
from health.check.ordered import Trigger, trigger_of
from health.kinds.registry import CHECK_KINDS
from health.model.incident_result import IncidentResult
from health.model.kind_names import kind_name
from health.model.moves import Outcome
from health.model.observation import HoldReason
from health.model.references import CheckReference
from health.runbook.maintenance import MaintenanceTask
from objects.frozen import label
from worker.incident_times import IncidentTimes
from workflows.notification_contracts import Delivery

REQUESTED, DONE, HELD, FAILED, LOST = "Requested", "Done", "Held", "Failed", "Lost"
FORBIDDEN = "Forbidden"
SAVED, NOT_SAVED = "Saved", "NotSaved"
GIVEN_UP = "GivenUp"


class WorkerMetrics:
    """The counters of one worker process, in its registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.times = IncidentTimes(registry)
        self._incidents = _incidents(registry)
        self._acts = _acts(registry)
        self._task_failures = _task_failures(registry)
        self._evidence = _evidence(registry)
        self._long_upgrades = _long_upgrades(registry)
        self._notifications = _notifications(registry)
        self._notification_failures = _notification_failures(registry)
        self._deletions = {
            kind: Counter(*activities.deletions, ("name", "namespace"), registry=registry)
            for kind, activities in KIND_ACTIVITIES.items()
            if activities.deletions is not None
        }
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        for result in (REQUESTED, DONE, LOST):
            self._acts.labels(result, "")
        for hold_reason in HoldReason:
            self._acts.labels(HELD, hold_reason)
        for result in (SAVED, NOT_SAVED):
            self._evidence.labels(result)
        for result in (*Delivery, GIVEN_UP):
            self._notifications.labels(result)
        for problem in DeliveryProblem:
            self._notification_failures.labels(problem)
        for task in MaintenanceTask:
            for reason in (FAILED, FORBIDDEN):
                self._task_failures.labels(task, reason)
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

    def act_ended(self, result: str, reason: str = "") -> None:
        self._acts.labels(result, reason).inc()

    def task_failed(self, task: MaintenanceTask, reason: str) -> None:
        """Count one item of a maintenance task that failed."""
        self._task_failures.labels(task.value, reason).inc()

    def evidence_tried(self, *, is_saved: bool) -> None:
        self._evidence.labels(SAVED if is_saved else NOT_SAVED).inc()

    def target_deleted(self, check: CheckReference) -> None:
        """Count a requested deletion, if its kind counts them."""
        if check.group_kind in self._deletions:
            self._deletions[check.group_kind].labels(check.name, check.namespace).inc()

    def notification_ended(self, result: str) -> None:
        """Count one notification to one receiver, at the end of its workflow."""
        self._notifications.labels(result).inc()

    def notification_failed(self, problem: str) -> None:
        """Count one failed attempt, which is retried."""
        self._notification_failures.labels(label(problem, DeliveryProblem)).inc()

    def upgrade_took_long(self) -> None:
        self._long_upgrades.inc()


def _incidents(registry: CollectorRegistry) -> Counter:
    return Counter(
        "paramedic_incidents",
        "Incidents that ended, by their outcome.",
        ("check_kind", "outcome", "trigger"),
        registry=registry,
    )


def _acts(registry: CollectorRegistry) -> Counter:
    return Counter(
        "paramedic_acts",
        "Attempts to take a step, by their result; the reason says why it was not taken.",
        ("result", "reason"),
        registry=registry,
    )


def _task_failures(registry: CollectorRegistry) -> Counter:
    return Counter(
        "paramedic_maintenance_failures",
        "Operations beside steps (annotate, renew, delete, release) that failed and are retried.",
        ("task", "reason"),
        registry=registry,
    )


def _evidence(registry: CollectorRegistry) -> Counter:
    return Counter(
        "paramedic_evidence",
        "Attempts to save evidence before a first step, by their result.",
        ("result",),
        registry=registry,
    )


def _notifications(registry: CollectorRegistry) -> Counter:
    return Counter(
        "paramedic_notifications",
        "Notifications to receivers of the policy that ended, by their result.",
        ("result",),
        registry=registry,
    )


def _notification_failures(registry: CollectorRegistry) -> Counter:
    return Counter(
        "paramedic_notification_failures",
        "Attempts to deliver a notification that failed and are retried, by their problem.",
        ("problem",),
        registry=registry,
    )


def _long_upgrades(registry: CollectorRegistry) -> Counter:
    return Counter(
        "paramedic_long_upgrades",
        "Upgrades of the cluster that take longer than the limit while checks are paused for them.",
        registry=registry,
    )
