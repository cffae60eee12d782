"""A node that goes because its remediator deletes it: the request is kept until that is done."""

from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import STEP, gone
from tests.workflows.phases import act
from tests.workflows.settling import rests

pytestmark = pytest.mark.rule("NHC 2.1/12/PermanentNodeDeletionExpected")

TEMPLATE = STEP.template.name


async def expect_the_end_of_the_node(incident: IncidentDriver) -> None:
    await act(incident)
    incident.cluster.report(TEMPLATE, is_node_deletion_expected=True)
    await incident.wake()
    await rests(incident, Phase.REMEDIATING)


async def test_request_is_kept_until_its_remediator_reports_success(incident: IncidentDriver) -> None:
    await expect_the_end_of_the_node(incident)
    await incident.sees(gone())
    await incident.tells("its remediator expects that")
    await incident.pass_time(timedelta(hours=10))
    await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.count("clean_up") == 0

    incident.cluster.report(TEMPLATE, succeeded=True)
    await incident.wake()
    assert await incident.outcome() is Outcome.GONE
    assert incident.cluster.count("deleted") == 1


async def test_request_that_its_remediator_removes_itself_is_the_end_too(incident: IncidentDriver) -> None:
    await expect_the_end_of_the_node(incident)
    await incident.sees(gone())
    await incident.tells("its remediator expects that")
    await incident.cluster.lose_requests()
    await incident.wake()
    assert await incident.outcome() is Outcome.GONE
    assert not incident.cluster.is_leased
