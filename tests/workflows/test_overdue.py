"""A remediation that takes too long gives the Lease of its target back, so that another check may go on."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from health.model.remediation_request import TIMED_OUT
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, expired, healthy, hold
from tests.workflows.phases import act, take_first_step
from tests.workflows.settling import pass_until, rests, settle

MINUTE = timedelta(minutes=1)
A_BIT = timedelta(seconds=2)


async def pass_renewals(incident: IncidentDriver, *, until: timedelta) -> None:
    """Let the time pass, renewal by renewal, until so long after the Lease was acquired."""
    acquired = incident.cluster.leased_since
    assert acquired is not None
    for minutes in range(6, int(until / MINUTE), 6):
        await pass_until(incident, acquired + minutes * MINUTE)
    await pass_until(incident, acquired + until)


@pytest.mark.rule(
    "NHC 2.5/overdue", "NHC 2.5/release", "NHC 1.7/nhc-timed-out", "NHC 2.8/overdue", "rule 13/overdue"
)
async def test_classic_remediation_is_annotated_and_gives_its_lease_back_after_30_minutes_for_good(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await pass_renewals(incident, until=30 * MINUTE - A_BIT)
    assert incident.cluster.count("renew") == 5
    assert incident.cluster.count("annotate") == 0
    assert incident.cluster.is_leased

    await incident.pass_time(2 * A_BIT)
    await incident.happens("clean_up")
    await rests(incident, Phase.EXHAUSTED)
    assert [list(annotations) for _, annotations in incident.cluster.annotated] == [[TIMED_OUT]]
    assert not incident.cluster.is_leased
    assert len(incident.cluster.requests) == 1
    assert incident.cluster.count("created") == 1

    await incident.pass_time(timedelta(hours=10))
    await incident.wake()
    await rests(incident, Phase.EXHAUSTED)
    assert incident.cluster.count("renew") == 5
    assert incident.cluster.count("clean_up") == incident.cluster.count("annotate") == 1
    assert not incident.cluster.is_leased

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("deleted") == 1


@pytest.mark.rule("NHC 2.5/overdue")
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
    await incident.pass_time(timedelta(hours=1))
    assert not (await rests(incident, Phase.EXHAUSTED)).memory.lease.may_be_held
    assert incident.cluster.count("renew") == renewals
    assert not incident.cluster.is_leased


@pytest.mark.rule("NHC 2.5/overdue")
async def test_step_that_is_held_for_too_long_gives_the_lease_back_and_the_next_one_takes_it(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    acquired = incident.cluster.leased_since
    assert acquired is not None
    await incident.sees(escalating(expired().model_copy(update={"hold": hold(HoldReason.STORM)})))
    await settle(incident)
    for minutes in (6, 11):
        await pass_until(incident, acquired + minutes * MINUTE)
    await pass_until(incident, acquired + 15 * MINUTE - A_BIT)
    assert incident.cluster.is_leased
    await pass_until(incident, acquired + 15 * MINUTE + A_BIT)
    await incident.happens("clean_up")
    await rests(incident, Phase.HELD)
    assert not incident.cluster.is_leased
    assert incident.cluster.tried == ["first"]

    await incident.sees(escalating())
    await incident.happens("created", 2)
    state = await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.is_leased
    assert incident.cluster.acts[-1].holds_lease is False
    assert state.memory.lease.is_held


@pytest.mark.rule("rule 39", "NHC 2.5/overdue")
async def test_lease_that_another_took_counts_from_when_it_was_taken(incident: IncidentDriver) -> None:
    began = datetime.now(UTC) - 25 * MINUTE
    incident.cluster.put_request(began)
    await act(incident)
    await settle(incident)
    await pass_until(incident, began + 30 * MINUTE + A_BIT)
    await incident.happens("clean_up")
    await rests(incident, Phase.EXHAUSTED)
    assert incident.cluster.count("annotate") == 1
