"""Open incidents that no worker answers for, against a real Temporal server."""

import pytest

from cli.doctor.finding import FindingSeverity
from cli.doctor.of_answers import QUERIED, answer_findings
from health.model.moves import Phase
from tests.support.story.fleet import Fleet
from tests.support.values.observations import held

pytestmark = pytest.mark.cluster


async def test_worker_that_answers_for_no_open_incident_is_a_problem(idle_fleet: Fleet) -> None:
    for number in range(QUERIED + 1):
        await idle_fleet.fail(f"node-{number}", held())
    await idle_fleet.listed("Running", QUERIED + 1)

    (finding,) = await answer_findings(idle_fleet.client, [idle_fleet.cluster])

    assert (finding.reason, finding.severity) == ("WorkerSilent", FindingSeverity.PROBLEM)
    assert finding.what.startswith(f"no worker answered for {QUERIED} open incidents within 3 s")


async def test_worker_that_answers_is_no_finding(fleet: Fleet) -> None:
    await fleet.fail("node-1", held())
    await fleet.reaches("node-1", Phase.HELD)
    await fleet.listed("Running", 1)
    assert await answer_findings(fleet.client, [fleet.cluster]) == []


async def test_cluster_without_an_open_incident_has_nothing_to_say(idle_fleet: Fleet) -> None:
    assert await answer_findings(idle_fleet.client, [idle_fleet.cluster]) == []
