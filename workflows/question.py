"""The question to the detector: the one call that an incident may give up, since it changes nothing."""

import asyncio
from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from health.model.observation import Observation
    from workflows.contracts import OBSERVE, ObserveInput, detector_queue
    from workflows.kit.calls import in_summary


def ask(
    asked: ObserveInput, *, longest: timedelta | None, summary: str
) -> workflow.ActivityHandle[Observation]:
    """Ask the detector; a question that none took for so long fails with ActivityError."""
    asking = workflow.start_activity(
        OBSERVE.name,
        asked,
        result_type=Observation,
        task_queue=detector_queue(asked.incident.cluster),
        schedule_to_start_timeout=longest,
        start_to_close_timeout=OBSERVE.start_to_close,
        retry_policy=OBSERVE.retry,
        summary=in_summary(summary),
    )
    asking.add_done_callback(_take_note)
    return asking


def _take_note(asking: asyncio.Task[Observation]) -> None:
    """Whoever gave up waiting has no more use for the failure."""
    if not asking.cancelled():
        asking.exception()
