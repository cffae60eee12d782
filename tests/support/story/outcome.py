"""Reads how an incident ended."""

from typing import Any

from temporalio.client import WorkflowHandle

from health.model.incident_result import IncidentResult


async def result_of(workflow: WorkflowHandle[Any, Any]) -> IncidentResult:
    """Wait for the workflow to end and return its result."""
    return IncidentResult.model_validate(await workflow.result())


async def outcome_of(workflow: WorkflowHandle[Any, Any]) -> str:
    return (await result_of(workflow)).outcome.value
