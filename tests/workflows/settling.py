"""Settling: an incident comes to rest before a test goes on: its clock moves also while a task is open."""

import asyncio
from datetime import datetime

from health.moves import Phase
from tests.workflows.incident import PATIENCE_SECONDS, POLL_SECONDS, IncidentDriver
from workflows.messages import State


async def rests(incident: IncidentDriver, phase: Phase) -> State:
    """Return when the incident is in the phase and has settled."""
    await incident.reaches(phase)
    await settle(incident)
    return await incident.reaches(phase)


async def settle(incident: IncidentDriver) -> None:
    """Return when nothing is under way: time that passes meanwhile passes for what is under way too."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await _is_busy(incident):  # noqa: ASYNC110  a description is all there is
            await asyncio.sleep(POLL_SECONDS)


async def _is_busy(incident: IncidentDriver) -> bool:
    description = await incident.described()
    return bool(description.pending_activities) or description.HasField("pending_workflow_task")


async def pass_until(incident: IncidentDriver, time: datetime) -> None:
    """Let the time pass until then, and what is due happen."""
    await incident.pass_time(time - await incident.now())
    await settle(incident)
