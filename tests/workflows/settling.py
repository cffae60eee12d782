"""Settling: an incident comes to rest before a test goes on: its clock moves also while a task is open."""

import asyncio
from datetime import datetime, timedelta

from health.model.moves import Phase
from tests.workflows.incident import PATIENCE_SECONDS, POLL_SECONDS, IncidentDriver
from workflows.messages import State

SOME_SECONDS = timedelta(seconds=6)
A_BIT = timedelta(milliseconds=10)
"""The clock cannot be moved by nothing."""


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


async def pass_wakes(incident: IncidentDriver, duration: timedelta) -> None:
    """Let so much time pass, from one wake-up of the incident to the next."""
    await settle(incident)
    end = await incident.now() + duration
    while (wakes := (await incident.state()).wakes_at) is not None and wakes < end:
        await pass_until(incident, wakes)
    await pass_until(incident, end)


async def pass_until_it_rests_for_long(incident: IncidentDriver) -> None:
    """Let the time pass until nothing is due by itself for some seconds."""
    await settle(incident)
    while (wakes := (await incident.state()).wakes_at) is None or wakes < await incident.now() + SOME_SECONDS:
        await pass_wakes(incident, timedelta(seconds=1))


async def pass_until(incident: IncidentDriver, time: datetime) -> None:
    """Let the time pass until then, and what is due happen."""
    await incident.pass_time(max(time - await incident.now(), A_BIT))
    await settle(incident)
