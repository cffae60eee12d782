"""Steps that the scenarios of tests/workflows/scenarios.py share."""

from datetime import timedelta

from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import Bring
from tests.support.story.settling import settle
from tests.support.values.observations import healthy

MINUTE = timedelta(minutes=1)


async def begin(incident: IncidentDriver, bring: Bring) -> None:
    """Bring the incident into a phase, and wait until it is idle there."""
    await bring(incident)
    await settle(incident)


async def recover(incident: IncidentDriver) -> None:
    """Let the scenario end: a replay cannot tell if the last commands of an open history have changed."""
    await incident.sees(healthy())
    await incident.outcome()
