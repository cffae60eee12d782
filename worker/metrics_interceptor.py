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

from health.model.references import Action
from health.runbook.failures import MaintenanceTask
from worker.worker_metrics import DONE, FAILED, GIVEN_UP, HELD, LOST, REFUSED, REQUESTED, WorkerMetrics
from workflows.contracts import (
    ACT,
    ANNOTATE,
    CLEAN_UP,
    RENEW,
    SAVE_EVIDENCE,
    ActHeld,
    ActInput,
    ActResult,
    EvidenceResult,
    RequestExists,
    RequestsLost,
    TargetDisrupted,
)
from workflows.messages import WORKFLOW, RemediationInput
from workflows.notification_contracts import NOTIFICATION, NOTIFY, NotifyResult
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
        match activity.info().activity_type:
            case ACT.name:
                return await self._act(input)
            case ANNOTATE.name | RENEW.name | CLEAN_UP.name as name:
                result = await super().execute_activity(input)
                for failure in result.failures:
                    reason = REFUSED if failure.is_refused else FAILED
                    self._metrics.task_failed(MaintenanceTask(name), reason)
                return result
            case SAVE_EVIDENCE.name:
                saved: EvidenceResult = await super().execute_activity(input)
                if saved.record is not None:
                    self._metrics.evidence_tried(is_saved=saved.record.is_saved)
                return saved
            case NOTIFY.name:
                return await self._notify(input)
            case SYNC_PAUSES.name:
                if input.args[0].warning:
                    self._metrics.upgrade_took_long()
                return await super().execute_activity(input)
            case _:
                return await super().execute_activity(input)

    async def _act(self, input: ExecuteActivityInput) -> ActResult:  # noqa: A002  as above
        try:
            result: ActResult = await super().execute_activity(input)
        except Exception:
            self._metrics.act_ended(FAILED)
            raise
        self._count_act(input.args[0], result)
        return result

    async def _notify(self, input: ExecuteActivityInput) -> NotifyResult:  # noqa: A002  as above
        try:
            result: NotifyResult = await super().execute_activity(input)
        except ApplicationError as error:
            self._metrics.notification_failed(error.type or "")
            raise
        return result

    def _count_act(self, request: ActInput, result: ActResult) -> None:
        match result.outcome:
            case ActHeld(hold=hold):
                self._metrics.act_ended(HELD, hold.reason)
            case RequestsLost():
                self._metrics.act_ended(LOST)
            case RequestExists(request=made, lease_acquired_at=acquired):
                self._metrics.act_ended(REQUESTED)
                self._metrics.times.step_taken(request.incident.check, made)
                self._count_delay(request, made.created if acquired else None)
            case TargetDisrupted(lease_acquired_at=acquired):
                self._metrics.act_ended(DONE)
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
