"""A request that is older than 48 hours is flagged, exactly once."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.moves import Phase
from health.model.remediation_request import GREW_OLD, GREW_OLD_FLAG
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import expired
from tests.workflows.settling import pass_until, rests, settle

OLD = timedelta(hours=48)
A_BIT = timedelta(seconds=2)

pytestmark = pytest.mark.rule("NHC 2.1/17/48 h", "rule 23", "NHC 1.7/old-remediation-cr-flag")


def flags(incident: IncidentDriver) -> list[str | None]:
    return [annotations[GREW_OLD] for _, annotations in incident.cluster.annotated if GREW_OLD in annotations]


async def grow_old(incident: IncidentDriver, created: datetime) -> None:
    await pass_until(incident, created + OLD - A_BIT)
    assert flags(incident) == []
    await pass_until(incident, created + OLD + A_BIT)
    await settle(incident)


async def test_request_is_flagged_after_48_hours_and_never_again(incident: IncidentDriver) -> None:
    created = datetime.now(UTC) - OLD + timedelta(hours=1)
    incident.cluster.put_request(created)
    await incident.start(expired())
    await rests(incident, Phase.EXHAUSTED)
    await grow_old(incident, created)
    assert flags(incident) == [GREW_OLD_FLAG]

    await incident.wake()
    await incident.pass_time(3 * OLD)
    await incident.wake()
    await settle(incident)
    assert flags(incident) == [GREW_OLD_FLAG]
