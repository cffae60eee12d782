"""Stories: what the stories of tests/workflows/scenarios.py share."""

from datetime import timedelta

from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import healthy
from tests.workflows.phases import Bring
from tests.workflows.settling import settle

MINUTE = timedelta(minutes=1)


async def begin(incident: IncidentDriver, bring: Bring) -> None:
    """Bring the incident somewhere, and let it settle there."""
    await bring(incident)
    await settle(incident)


async def recover(incident: IncidentDriver) -> None:
    """Let the story end: of a history's last commands nothing can tell whether they changed."""
    await incident.sees(healthy())
    await incident.outcome()
