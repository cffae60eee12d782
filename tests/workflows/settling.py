"""Settling: an incident comes to rest before a test goes on: its clock moves also while a task is open."""

from datetime import datetime, timedelta

from health.model.moves import Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.polling import polled
from workflows.messages import State

A_BIT = timedelta(milliseconds=10)
REAL_TIME = timedelta(seconds=20)
"""More than passes by itself, on a machine however busy, until what is looked for was looked for."""
"""The clock cannot be moved by nothing."""


async def rests(incident: IncidentDriver, phase: Phase) -> State:
    """Return when the incident is in the phase and has settled."""

    async def settled() -> State | None:
        await settle(incident)
        state = await incident.state()
        return state if state.phase is phase else None

    return await polled(settled)


async def settle(incident: IncidentDriver) -> None:
    """Return when nothing is under way: time that passes meanwhile passes for what is under way too."""

    async def is_idle() -> bool:
        description = await incident.described()
        return not (description.pending_activities or description.HasField("pending_workflow_task"))

    await polled(is_idle)


async def pass_wakes(incident: IncidentDriver, duration: timedelta) -> None:
    """Let so much time pass, from one wake-up of the incident to the next."""
    await settle(incident)
    end = await incident.now() + duration
    while (wakes := (await incident.state()).wakes_at) is not None and wakes < end:
        await _pass_until_it_wakes(incident, wakes)
    await pass_until(incident, end)


async def _pass_until_it_wakes(incident: IncidentDriver, wakes: datetime) -> None:
    """A timer may fire a moment late: what it begins must not meet the next leap of the clock."""

    async def is_awake() -> bool:
        return (await incident.state()).wakes_at != wakes

    await incident.pass_time(max(wakes - await incident.now(), A_BIT))
    await polled(is_awake)
    await settle(incident)


async def pass_until(incident: IncidentDriver, time: datetime) -> None:
    """Let the time pass until then, and what is due happen."""
    await incident.pass_time(max(time - await incident.now(), A_BIT))
    await settle(incident)
