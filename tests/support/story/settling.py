"""Waits until an incident is idle before a test goes on, because its clock also moves during an open task."""

from datetime import datetime, timedelta

from health.model.moves import Phase
from tests.support.story.incident import IncidentDriver
from tests.support.story.polling import polled
from tests.support.story.runs import is_idle
from workflows.messages import State

A_BIT = timedelta(milliseconds=10)
"""The clock cannot be moved by zero."""

ROUNDING = timedelta(seconds=1)
"""An annotation of a request has whole seconds."""

REAL_TIME = timedelta(seconds=20)
"""More time than passes by itself on a busy machine until a poll has its answer."""


async def rests(incident: IncidentDriver, phase: Phase) -> State:
    """Wait until the incident is idle in the phase."""

    async def settled() -> State | None:
        await settle(incident)
        state = await incident.state()
        return state if state.phase is phase else None

    return await polled(settled)


async def settle(incident: IncidentDriver) -> None:
    """Wait until no task is under way: time skipped meanwhile would count for that task, too."""
    await polled(lambda: is_idle(incident.handle))


async def pass_wakes(incident: IncidentDriver, duration: timedelta) -> None:
    """Let time pass, from one wake-up of the incident to the next."""
    await settle(incident)
    end = await incident.now() + duration
    while (wakes := (await incident.state()).wakes_at) is not None and wakes < end:
        await _pass_until_it_wakes(incident, wakes)
    await pass_until(incident, end)


async def _pass_until_it_wakes(incident: IncidentDriver, wakes: datetime) -> None:
    """A timer may fire a moment late: the next skip must not overlap with what it starts."""

    async def is_awake() -> bool:
        return (await incident.state()).wakes_at != wakes

    await incident.pass_time(max(wakes - await incident.now(), A_BIT))
    await polled(is_awake)
    await settle(incident)


async def pass_until(incident: IncidentDriver, time: datetime) -> None:
    """Let time pass until then, with everything that is due."""
    await incident.pass_time(max(time - await incident.now(), A_BIT))
    await settle(incident)
