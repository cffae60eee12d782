"""An overdue remediation releases the Lease of its target, so that another check may act."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.remediation_request import TIMED_OUT
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import rests
from tests.support.values.observations import expired, healthy

MINUTE = timedelta(minutes=1)
A_BIT = timedelta(seconds=2)


@pytest.mark.rule("NHC 2.5/overdue", "NHC 2.5/release", "NHC 1.7/nhc-timed-out")
async def test_look_that_comes_while_the_lease_is_given_back_does_not_claim_it_again(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["clean_up"]
    incident.cluster.put_request(datetime.now(UTC) - 40 * MINUTE)
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    await incident.wake()
    gate.open()
    await rests(incident, Phase.EXHAUSTED)
    renewals = incident.cluster.count("renew")
    await incident.pass_time(timedelta(hours=10))
    assert not (await rests(incident, Phase.EXHAUSTED)).memory.lease.may_be_held
    assert incident.cluster.count("renew") == renewals
    assert incident.cluster.count("clean_up") == 1
    assert not incident.cluster.is_leased
    assert [list(annotations) for _, annotations in incident.cluster.annotated] == [[TIMED_OUT]]
    assert len(incident.cluster.requests) == 1

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("deleted") == 1
