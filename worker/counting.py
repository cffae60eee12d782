"""Counting: interceptors that count acts, chores and ended incidents, so that none of them knows of metrics.

A replay counts nothing. An end that a wake overtakes is counted again when it is reached again: Temporal
refuses the first of the two after we have said it.
"""

from typing import Any

from temporalio import activity, workflow
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    ExecuteWorkflowInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from health.model.references import Action
from worker.tally import DONE, FAILED, FORBIDDEN, HELD, LOST, REQUESTED, Tally
from workflows.contracts import ACT, ActInput, ActResult, AnnotateResult, CleanUpResult, RenewResult
from workflows.messages import WORKFLOW, RemediationInput

_INCIDENT_ENDED = "paramedic_incident_ended"
"""What leads out of the sandbox of workflows."""


class Counting(Interceptor):
    """Counts for one worker process."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002  the SDK names it
        """Count each act."""
        return _CountedActivity(next, self._tally)

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002  the SDK names it
    ) -> type[WorkflowInboundInterceptor]:
        """Count each end of an incident."""
        input.unsafe_extern_functions[_INCIDENT_ENDED] = self._tally.incident_ended
        return _CountedWorkflow


class _CountedActivity(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, tally: Tally) -> None:  # noqa: A002  the SDK names it
        super().__init__(next)
        self._tally = tally

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002, ANN401  as the SDK says
        name = activity.info().activity_type
        if name != ACT.name:
            return self._chore(name, await super().execute_activity(input))
        try:
            result: ActResult = await super().execute_activity(input)
        except Exception as error:
            self._tally.act_ended(FAILED, type(error).__name__)
            raise
        self._count(input.args[0], result)
        return result

    def _chore(self, name: str, result: AnnotateResult | RenewResult | CleanUpResult) -> object:
        for failure in result.failures:
            self._tally.chore_failed(name, FORBIDDEN if failure.is_forbidden else FAILED)
        return result

    def _count(self, asked: ActInput, result: ActResult) -> None:
        if result.hold is not None:
            self._tally.act_ended(HELD, result.hold.reason)
        elif result.is_lost:
            self._tally.act_ended(LOST)
        else:
            self._tally.act_ended(DONE if result.is_done else REQUESTED)
        # What was under way already needed no Lease.
        if asked.step.action is Action.DELETE and result.lease_acquired_at is not None:
            self._tally.target_deleted(asked.incident.check)


class _CountedWorkflow(WorkflowInboundInterceptor):
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:  # noqa: A002, ANN401  as the SDK says
        result = await super().execute_workflow(input)
        if workflow.info().workflow_type == WORKFLOW and not workflow.unsafe.is_replaying():
            start: RemediationInput = input.args[0]
            workflow.extern_functions()[_INCIDENT_ENDED](start.incident.check.kind_name, result.outcome)
        return result
