"""How an incident ended."""

from typing import Any

from temporalio.client import WorkflowHandle

from health.model.incident_result import IncidentResult


async def result_of(workflow: WorkflowHandle[Any, Any]) -> IncidentResult:
    """What the workflow returns; waits until it has ended."""
    return IncidentResult.model_validate(await workflow.result())


async def outcome_of(workflow: WorkflowHandle[Any, Any]) -> str:
    """The outcome alone."""
    return (await result_of(workflow)).outcome.value
