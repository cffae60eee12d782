"""An escalation: each step has its time, then the next one begins, until none is left."""

from datetime import datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from health.model.remediation_request import TIMED_OUT
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, expired, healthy, held, hold
from tests.workflows.phases import fail_steps, take_first_step
from tests.workflows.settling import pass_until, rests, settle
from workflows.messages import HoldOrder

A_BIT = timedelta(seconds=2)
TIMEOUTS = {
    "first": timedelta(seconds=300),
    "second": timedelta(seconds=120),
    "third": timedelta(seconds=600),
}


def timeout_of(incident: IncidentDriver, template: str) -> datetime:
    return incident.cluster.request_of(template).created + TIMEOUTS[template]


def timed_out(incident: IncidentDriver) -> list[str]:
    """The templates of the requests that were told to stop."""
    return [template for template, annotations in incident.cluster.annotated if TIMED_OUT in annotations]


@pytest.mark.rule(
    "NHC 2.4/6/timeout",
    "NHC 2.4/2",
    "NHC 2.4/2/none left",
    "NHC 2.4/6/kept",
    "NHC 1.7/nhc-timed-out",
    "rule 18",
    "rule 40/exhausted",
)
async def test_each_step_times_out_to_the_second_and_when_none_is_left_all_requests_are_kept_until_recovery(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    for number, template in enumerate(("first", "second", "third")):
        ends = timeout_of(incident, template)
        await pass_until(incident, ends - A_BIT)
        assert incident.cluster.count("annotate") == number

        await pass_until(incident, ends + timedelta(seconds=0.5))
        await incident.happens("annotate", number + 1)
        stamped = incident.cluster.request_of(template).timed_out_at
        assert stamped is not None
        assert timedelta(seconds=-1) < stamped - ends < A_BIT
        await settle(incident)

    await rests(incident, Phase.EXHAUSTED)
    renewals = incident.cluster.count("renew")
    await incident.pass_time(timedelta(hours=10))
    state = await rests(incident, Phase.EXHAUSTED)
    assert "no template left to try" in state.details
    assert incident.cluster.count("renew") == renewals
    assert incident.cluster.tried == timed_out(incident) == ["first", "second", "third"]
    assert len(incident.cluster.requests) == 3
    assert incident.cluster.count("act") == 3

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("deleted") == 3


@pytest.mark.rule("NHC 2.4/6/failed", "NHC 2.4/2", "NHC 2.5/durations", "rule 21")
async def test_step_that_failed_is_annotated_and_followed_at_once_by_one_with_a_lease_and_requests_of_its_own(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    assert (await incident.state()).memory.lease.duration_seconds == 300
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    assert (await rests(incident, Phase.REMEDIATING)).memory.lease.duration_seconds == 120
    first, second = incident.cluster.times("created")
    assert second - first < timedelta(seconds=20)
    assert timed_out(incident) == ["first"]

    lost = incident.cluster.request_of("second").reference
    await incident.cluster.lose_requests()
    await incident.wake()
    await incident.happens("act", 3)
    await settle(incident)
    acts = incident.cluster.acts[:3]
    assert [asked.step.template.name for asked in acts] == ["first", "second", "second"]
    assert [asked.known for asked in acts] == [(), (), (lost,)]
    assert [asked.is_under_way for asked in acts[:2]] == [False, True]


@pytest.mark.rule("rule 7", "rule 7/timed out")
async def test_check_that_holds_and_person_who_holds_stop_the_next_step_and_no_annotation(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    await incident.sees(escalating(held(HoldReason.STORM)))
    await settle(incident)
    assert (await incident.state()).phase is Phase.REMEDIATING
    await pass_until(incident, timeout_of(incident, "first") + A_BIT)
    await incident.happens("annotate")
    assert "Storm" in (await rests(incident, Phase.HELD)).details
    assert incident.cluster.tried == ["first"]

    await incident.sees(escalating())
    await incident.happens("created", 2)
    await incident.hold(HoldOrder(reason="disk swap"))
    await fail_steps(incident, "second")
    await incident.happens("annotate", 2)
    assert "disk swap" in (await rests(incident, Phase.HELD)).details
    assert incident.cluster.tried == ["first", "second"]

    await incident.resume()
    await incident.happens("created", 3)
    assert (await rests(incident, Phase.REMEDIATING)).memory.starts_over is None
    assert incident.cluster.count("deleted") == 0
    assert timed_out(incident) == ["first", "second"]


async def test_act_that_is_refused_claims_no_lease_and_keeps_the_one_of_the_step_before(
    incident: IncidentDriver,
) -> None:
    incident.cluster.refusals.append(hold(HoldReason.TAKEN))
    await incident.start(escalating())
    await rests(incident, Phase.HELD)
    await incident.wake()
    await incident.happens("created")
    incident.cluster.refusals.append(hold(HoldReason.TEMPLATE))
    await fail_steps(incident, "first")
    await rests(incident, Phase.HELD)
    assert incident.cluster.is_leased
    await incident.wake()
    await incident.happens("created", 2)
    assert [asked.holds_lease for asked in incident.cluster.attempts] == [False, False, True, True]


@pytest.mark.rule("rule 10/steps", "rule 10/edit")
async def test_edited_timeout_counts_from_the_start_of_the_step_and_the_next_one_is_of_the_edited_list(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    began = incident.cluster.request_of("first").created
    first, second, third = escalating().steps
    await incident.sees(
        escalating(expired(), first.model_copy(update={"timeout_seconds": 60}), third, second)
    )
    await settle(incident)
    assert incident.cluster.tried == ["first"]
    await pass_until(incident, began + timedelta(seconds=60) + A_BIT)
    await incident.happens("created", 2)
    assert incident.cluster.times("created")[1] - began < timedelta(seconds=60) + 3 * A_BIT
    assert incident.cluster.tried == ["first", "third"]
