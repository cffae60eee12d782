"""The question to the detector: the one call that an incident may give up, since it changes nothing."""

import asyncio
from datetime import datetime, timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from health.model.observation import Observation, TargetState
    from health.model.references import IncidentReference
    from health.runbook.memory import Memory
    from workflows.contracts import OBSERVE, ObserveInput, detector_queue
    from workflows.kit.summaries import in_summary

SHORTEST_WAIT = timedelta(seconds=5)
NOT_ASKED = Observation(state=TargetState.UNKNOWN, reason="no answer of the detector yet")


def question(incident: IncidentReference, memory: Memory, now: datetime) -> ObserveInput:
    """What an incident asks."""
    backs_off = memory.failing is not None and now < memory.failing.next_act
    would_act = not (memory.left_alone or memory.held or backs_off)
    return ObserveInput(incident=incident, found=memory.found, would_act=would_act)


def until_renewal(memory: Memory, now: datetime) -> timedelta | None:
    """How long a question may wait for a detector; None: no Lease is to be kept meanwhile."""
    renew_at = memory.lease.renew_at
    is_kept = memory.lease.may_be_held and not memory.is_exhausted and memory.clean_up_at is None
    if not is_kept or renew_at is None:
        return None
    return max(SHORTEST_WAIT, renew_at - now)


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
