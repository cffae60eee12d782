"""Scenarios in which no detector answers, or no worker runs."""

from datetime import timedelta

from health.model.moves import Phase
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act
from tests.support.story.settling import rests
from tests.support.values.observations import expired, healthy
from tests.workflows.stories import MINUTE, begin, recover


async def lease_renewed_without_a_detector(incident: IncidentDriver) -> None:
    async with incident.worker():
        async with incident.detector():
            await begin(incident, act)
            await incident.pass_time(10 * MINUTE - timedelta(seconds=1))
            await rests(incident, Phase.REMEDIATING)
        await incident.wake()
        await incident.happens("renew")
        async with incident.detector():
            await incident.happens("answered", 2)
            await rests(incident, Phase.REMEDIATING)
            await recover(incident)


async def recovered_before_a_worker_ran(incident: IncidentDriver) -> None:
    """A worker that is killed during an act leaves the same history."""
    await incident.start(expired())
    await incident.sees(healthy())
    async with incident.detector(), incident.worker():
        await incident.outcome()


SCENARIOS = (lease_renewed_without_a_detector, recovered_before_a_worker_ran)
