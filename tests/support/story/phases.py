"""Ways to bring an incident into each of its phases."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from health.model.moves import Phase
from health.model.observation import HoldReason
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import rests, settle
from tests.support.values.observations import (
    ESCALATION,
    escalating,
    expired,
    healthy,
    held,
    hold,
    waiting,
)

Bring = Callable[[IncidentDriver], Awaitable[None]]


async def wait(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.reaches(Phase.WAITING)


async def be_held(incident: IncidentDriver) -> None:
    await incident.start(held())
    await incident.reaches(Phase.HELD)


async def be_refused(incident: IncidentDriver) -> None:
    incident.cluster.refusals.append(hold(HoldReason.TEMPLATE))
    await incident.start(expired())
    await incident.reaches(Phase.HELD)


async def act(incident: IncidentDriver) -> None:
    await incident.start(expired())
    await incident.reaches(Phase.REMEDIATING)


async def adopt(incident: IncidentDriver) -> None:
    incident.cluster.put_request()
    await act(incident)


async def take_first_step(incident: IncidentDriver) -> None:
    await incident.start(escalating())
    await rests(incident, Phase.REMEDIATING)


async def fail_steps(incident: IncidentDriver, *templates: str) -> None:
    """Let the remediators of these steps fail, one after the other, each after some time."""
    for template in templates:
        incident.cluster.report(template, succeeded=False)
        await incident.wake()
        await settle(incident)


async def exhaust(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    await fail_steps(incident, *(step.template.name for step in ESCALATION))
    await rests(incident, Phase.EXHAUSTED)


async def adopt_exhausted(incident: IncidentDriver) -> None:
    """Start it after all steps had failed: this leads to the same phase at once."""
    for step in ESCALATION:
        incident.cluster.put_request(template=step.template.name)
        incident.cluster.report(step.template.name, succeeded=False, timed_out_at=datetime.now(UTC))
    await incident.start(escalating())
    await rests(incident, Phase.EXHAUSTED)


async def hang_on_a_finalizer(incident: IncidentDriver) -> None:
    await act(incident)
    incident.cluster.has_finalizer = True
    await incident.sees(healthy())
    await incident.happens("clean_up")
    await rests(incident, Phase.CLEANING_UP)
