"""A node that recovers after each step and fails again: its next incident goes on with the next step."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.incident_result import repeated
from health.model.moves import Outcome, Phase
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import rests
from tests.support.values.builders import fact
from tests.support.values.observations import ESCALATION, escalating, healthy

pytestmark = pytest.mark.rule("rule 64")

RELAPSE = timedelta(minutes=30)


async def fails(incident: IncidentDriver, relapse: timedelta = RELAPSE) -> None:
    """Start the incident of a failure that begins now."""
    since = await incident.now() if incident.cluster.log else datetime.now(UTC)
    says = {"relapse_seconds": relapse.total_seconds(), "fact": fact(since, "False")}
    await incident.start(escalating().model_copy(update=says))


async def recovers(incident: IncidentDriver) -> None:
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED


async def test_each_failure_that_comes_back_takes_the_next_step_until_none_is_left_also_after_a_restart(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    for _ in range(3):
        async with incident.detector(), incident.worker():
            await fails(incident)
            await recovers(incident)
    async with incident.detector(), incident.worker():
        await fails(incident)
        await rests(incident, Phase.EXHAUSTED)
        assert len(incident.cluster.questions[-1].progress.spent) == len(ESCALATION)
        assert not incident.cluster.questions[-1].would_act
        await incident.sees(healthy())
        remediation = (await incident.result()).remediation
    assert incident.cluster.tried == ["first", "second", "third"]
    assert remediation is not None
    assert remediation.ended > incident.cluster.times("deleted")[-1]


async def test_without_a_relapse_each_failure_takes_the_first_step_and_the_result_says_how_often(
    incident: IncidentDriver,
) -> None:
    for _ in range(3):
        await fails(incident, relapse=timedelta())
        await recovers(incident)
    assert incident.cluster.tried == ["first"] * 3
    remediation = (await incident.result()).remediation
    assert remediation is not None
    assert remediation.in_a_row == 3
    assert [act.repetition for act in incident.cluster.acts] == [None, None, repeated(3, 1)]
