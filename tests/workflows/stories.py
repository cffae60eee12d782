"""Steps that the scenarios of tests/workflows/scenarios.py share."""

from datetime import timedelta

from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import healthy
from tests.workflows.phases import Bring
from tests.workflows.settling import settle

MINUTE = timedelta(minutes=1)


async def begin(incident: IncidentDriver, bring: Bring) -> None:
    """Bring the incident into a phase, and wait until it is idle there."""
    await bring(incident)
    await settle(incident)


async def recover(incident: IncidentDriver) -> None:
    """Let the scenario end: a replay cannot tell if the last commands of an open history have changed."""
    await incident.sees(healthy())
    await incident.outcome()
