"""Calls of activities, by their contracts: timeouts and retries come from there and from nowhere else."""

from typing import Any, TypeVar

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from health.frozen import Frozen
    from workflows.contracts import Contract

Result = TypeVar("Result")

SUMMARY = 200
"""Characters of a summary in the Temporal UI; the server takes 400 bytes."""


def call(
    contract: Contract, argument: Frozen, result: type[Result] | None, *, queue: str, summary: str
) -> workflow.ActivityHandle[Any]:
    """Start an activity; `summary` says in the UI what it is for."""
    return workflow.start_activity(
        contract.name,
        argument,
        result_type=result,
        task_queue=queue,
        start_to_close_timeout=contract.start_to_close,
        retry_policy=contract.retry,
        summary=summary[:SUMMARY],
    )
