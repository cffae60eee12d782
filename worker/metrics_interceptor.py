"""MetricsInterceptor: counts acts, evidence, maintenance, incidents, notifications and long upgrades.

Activities and workflows do not know about metrics. Unknown activities and workflows are not counted.

A replay is not counted. If a wake overtakes the end of an incident, the end is counted again when it is
reached again: Temporal refuses the first completion after it was counted.
"""

from datetime import datetime
from typing import Any

from temporalio import activity, workflow
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    ExecuteWorkflowInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from activities.notifications import DeliveryProblem
from health.model.references import Action
from objects.frozen import label
from worker.worker_metrics import (
    DONE,
    FAILED,
    GIVEN_UP,
    HELD,
    LOST,
    NOT_SAVED,
    REFUSED,
    REQUESTED,
    SAVED,
    WorkerMetrics,
)
from workflows.contracts import (
    ACT,
    ANNOTATE,
    CLEAN_UP,
    RENEW,
    SAVE_EVIDENCE,
    ActHeld,
    ActInput,
    ActResult,
    RequestExists,
    RequestsLost,
    TargetDisrupted,
)
from workflows.messages import WORKFLOW, RemediationInput
from workflows.notification import NOTIFICATION, NOTIFY, NotifyResult
from workflows.upgrade_contracts import SYNC_PAUSES

_INCIDENT_BEGAN, _INCIDENT_ENDED = "paramedic_incident_began", "paramedic_incident_ended"
_NOTIFICATION_ENDED = "paramedic_notification_ended"
"""The names of the functions that the interceptor calls outside of the sandbox of workflows."""


class MetricsInterceptor(Interceptor):
    """Counts activities and workflows of one worker process."""

    def __init__(self, metrics: WorkerMetrics) -> None:
        self._metrics = metrics

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002  the SDK names it
        return _CountedActivity(next, self._metrics)

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002  the SDK names it
    ) -> type[WorkflowInboundInterceptor]:
        input.unsafe_extern_functions[_INCIDENT_BEGAN] = self._metrics.incident_began
        input.unsafe_extern_functions[_INCIDENT_ENDED] = self._metrics.incident_ended
        input.unsafe_extern_functions[_NOTIFICATION_ENDED] = self._metrics.notification_ended
        return _CountedWorkflow


class _CountedActivity(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, metrics: WorkerMetrics) -> None:  # noqa: A002  the SDK names it
        super().__init__(next)
        self._metrics = metrics

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002, ANN401  as the SDK says
        name, metrics = activity.info().activity_type, self._metrics
        if name == SYNC_PAUSES.name and input.args[0].warning:
            metrics.long_upgrades.inc()
        try:
            result = await super().execute_activity(input)
        except Exception as error:
            if name == ACT.name:
                metrics.acts.labels(FAILED, "").inc()
            if name == NOTIFY.name and isinstance(error, ApplicationError):
                metrics.notification_failures.labels(label(error.type or "", DeliveryProblem)).inc()
            raise
        match name:
            case ACT.name:
                self._count_act(input.args[0], result)
            case ANNOTATE.name | RENEW.name | CLEAN_UP.name:
                for failure in result.failures:
                    metrics.task_failures.labels(name, REFUSED if failure.is_refused else FAILED).inc()
            case SAVE_EVIDENCE.name if result.record is not None:
                metrics.evidence.labels(SAVED if result.record.is_saved else NOT_SAVED).inc()
        return result

    def _count_act(self, request: ActInput, result: ActResult) -> None:
        match result.outcome:
            case ActHeld(hold=hold):
                self._metrics.acts.labels(HELD, hold.reason).inc()
            case RequestsLost():
                self._metrics.acts.labels(LOST, "").inc()
            case RequestExists(request=made, lease_acquired_at=acquired):
                self._metrics.acts.labels(REQUESTED, "").inc()
                self._metrics.times.step_taken(request.incident.check, made)
                self._count_delay(request, made.created if acquired else None)
            case TargetDisrupted(lease_acquired_at=acquired):
                self._metrics.acts.labels(DONE, "").inc()
                self._metrics.times.step_taken(request.incident.check, None)
                self._count_delay(request, acquired)
                # Steps that were already under way needed no Lease.
                if request.step.action is Action.DELETE and acquired is not None:
                    self._metrics.target_deleted(request.incident.check)

    def _count_delay(self, request: ActInput, requested: datetime | None) -> None:
        """Count the delay of a first step taken at `requested`; None: an earlier act took the step."""
        if request.delay is not None and requested is not None:
            kind = request.incident.check.kind_name
            self._metrics.times.remediation_requested(kind, request.delay, requested)


class _CountedWorkflow(WorkflowInboundInterceptor):
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:  # noqa: A002, ANN401  as the SDK says
        if workflow.info().workflow_type == NOTIFICATION:
            return await self._deliver(input)
        if workflow.info().workflow_type == WORKFLOW:
            return await self._remediate(input)
        return await super().execute_workflow(input)

    async def _remediate(self, input: ExecuteWorkflowInput) -> Any:  # noqa: A002, ANN401  as above
        start: RemediationInput = input.args[0]
        # Also in a replay: it counts nothing.
        workflow.extern_functions()[_INCIDENT_BEGAN](start.incident.check)
        result = await super().execute_workflow(input)
        _count(_INCIDENT_ENDED, start.incident.check, result)
        return result

    async def _deliver(self, input: ExecuteWorkflowInput) -> NotifyResult:  # noqa: A002  as above
        try:
            result: NotifyResult = await super().execute_workflow(input)
        except ApplicationError:
            _count(_NOTIFICATION_ENDED, GIVEN_UP)
            raise
        _count(_NOTIFICATION_ENDED, result.delivery)
        return result


def _count(function: str, *arguments: object) -> None:
    if not workflow.unsafe.is_replaying():
        workflow.extern_functions()[function](*arguments)
