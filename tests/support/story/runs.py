"""Reads a workflow from Temporal: whether it is idle, and the histories of its runs."""

from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter

_SUMMARIZED = (
    EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    EventType.EVENT_TYPE_TIMER_STARTED,
)


async def is_idle(workflow: WorkflowHandle[Any, Any]) -> bool:
    """True if neither an activity nor a task of the workflow is under way."""
    description = (await workflow.describe()).raw_description
    return not (description.pending_activities or description.HasField("pending_workflow_task"))


async def histories_of(client: Client, workflow_id: str, *run_ids: str) -> list[WorkflowHistory]:
    """The histories of its runs, including continued ones; the first run is first."""
    todo, found = {*run_ids}, dict[str, WorkflowHistory]()
    while todo:
        run_id = todo.pop()
        found[run_id] = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
        earlier = _earlier_run(found[run_id])
        if earlier and earlier not in found:
            todo.add(earlier)
    return sorted(found.values(), key=lambda history: history.events[0].event_time.ToNanoseconds())


def summaries_of(history: WorkflowHistory) -> list[str]:
    """The summary that the UI shows for each activity and timer."""
    decode = pydantic_data_converter.payload_converter
    return [
        decode.from_payload(event.user_metadata.summary, str) if event.HasField("user_metadata") else ""
        for event in history.events
        if event.event_type in _SUMMARIZED
    ]


def _earlier_run(history: WorkflowHistory) -> str:
    first = history.events[0]
    assert first.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED
    return first.workflow_execution_started_event_attributes.continued_execution_run_id
