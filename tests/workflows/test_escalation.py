"""An escalation: each step has its time, then the next one begins, until none is left."""

from datetime import datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason, Observation
from health.model.remediation_request import TIMED_OUT
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, expired, healthy, hold, waiting
from tests.workflows.phases import exhaust, fail_steps, take_first_step
from tests.workflows.settling import pass_until, rests, settle
from workflows.messages import HoldOrder

A_BIT = timedelta(seconds=2)
TIMEOUTS = {
    "first": timedelta(seconds=300),
    "second": timedelta(seconds=120),
    "third": timedelta(seconds=600),
}
HOLDS = [
    pytest.param(HoldReason.PAUSED, id="pause-requests"),
    pytest.param(HoldReason.THRESHOLD, id="threshold"),
    pytest.param(HoldReason.STORM, id="storm"),
    pytest.param(HoldReason.UPGRADING, id="upgrade"),
]


def timeout_of(incident: IncidentDriver, template: str) -> datetime:
    return incident.cluster.request_of(template).created + TIMEOUTS[template]


def marked(incident: IncidentDriver) -> list[str]:
    """The templates of the requests that were told to stop."""
    return [template for template, annotations in incident.cluster.marks if TIMED_OUT in annotations]


def held_by(reason: HoldReason) -> Observation:
    return escalating(expired().model_copy(update={"hold": hold(reason)}))


@pytest.mark.rule("NHC 2.4/6/timeout", "NHC 2.4/2", "NHC 2.4/6/kept", "NHC 1.7/nhc-timed-out", "rule 18")
async def test_each_step_times_out_to_the_second_and_the_next_one_begins(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    for number, template in enumerate(("first", "second", "third")):
        ends = timeout_of(incident, template)
        await pass_until(incident, ends - A_BIT)
        assert incident.cluster.count("mark") == number

        await pass_until(incident, ends + timedelta(seconds=0.5))
        await incident.happens("mark", number + 1)
        stamped = incident.cluster.request_of(template).timed_out_at
        assert stamped is not None
        assert timedelta(seconds=-1) < stamped - ends < A_BIT
        await settle(incident)

    await rests(incident, Phase.EXHAUSTED)
    assert incident.cluster.tried == marked(incident) == ["first", "second", "third"]
    assert len(incident.cluster.requests) == 3
    assert incident.cluster.count("act") == 3


@pytest.mark.rule("NHC 2.4/6/failed", "NHC 2.4/2")
async def test_step_that_failed_is_marked_and_followed_at_once(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    first, second = incident.cluster.times("created")
    assert second - first < timedelta(seconds=20)
    assert marked(incident) == ["first"]
    assert incident.cluster.tried == ["first", "second"]


@pytest.mark.rule("NHC 2.4/6/succeeded", "NHC 2.7/Succeeded")
async def test_step_that_succeeded_in_vain_has_its_time_and_is_not_told_to_stop(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    incident.cluster.report("first", succeeded=True)
    await incident.wake()
    await settle(incident)
    assert incident.cluster.tried == ["first"]

    await pass_until(incident, timeout_of(incident, "first") + A_BIT)
    await incident.happens("created", 2)
    assert incident.cluster.tried == ["first", "second"]
    assert marked(incident) == []


@pytest.mark.rule("rule 7", "rule 7/timed out")
@pytest.mark.parametrize("reason", HOLDS)
async def test_what_holds_the_check_stops_the_next_step_and_no_mark(
    incident: IncidentDriver, reason: HoldReason
) -> None:
    await take_first_step(incident)
    await incident.sees(held_by(reason))
    await settle(incident)
    assert (await incident.state()).phase is Phase.REMEDIATING

    await pass_until(incident, timeout_of(incident, "first") + A_BIT)
    await incident.happens("mark")
    assert str(reason) in (await rests(incident, Phase.HELD)).details
    assert incident.cluster.tried == ["first"]

    await incident.sees(escalating())
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    assert marked(incident) == ["first"]


@pytest.mark.rule("rule 7", "rule 7/timed out")
async def test_person_who_holds_stops_the_next_step_and_no_mark(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    await incident.hold(HoldOrder(reason="disk swap"))
    await incident.tells("disk swap")
    await pass_until(incident, timeout_of(incident, "first") + A_BIT)
    await incident.happens("mark")
    assert "disk swap" in (await rests(incident, Phase.HELD)).details
    assert incident.cluster.tried == ["first"]

    await incident.resume()
    await incident.happens("created", 2)
    assert (await rests(incident, Phase.REMEDIATING)).memory.starts_over is None
    assert incident.cluster.count("deleted") == 0


@pytest.mark.rule("NHC 2.4/2/none left", "rule 40/exhausted")
async def test_incident_without_a_step_left_rests_and_keeps_its_requests_until_recovery(
    incident: IncidentDriver,
) -> None:
    await exhaust(incident)
    calls = len(incident.cluster.log)
    await incident.pass_time(timedelta(hours=10))
    state = await rests(incident, Phase.EXHAUSTED)
    assert "no template left to try" in state.details
    assert "created" not in [entry.what for entry in incident.cluster.log[calls:]]
    assert incident.cluster.count("renew") == 0
    assert len(incident.cluster.requests) == 3

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("deleted") == 3


@pytest.mark.rule("NHC 2.1/13/timer runs")
async def test_while_only_a_timer_runs_nothing_escalates(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    await incident.sees(escalating(waiting(timedelta(hours=1))))
    await settle(incident)
    await pass_until(incident, timeout_of(incident, "first") + A_BIT)
    await incident.happens("renew")
    await rests(incident, Phase.WAITING)
    assert incident.cluster.count("mark") == 0
    assert incident.cluster.tried == ["first"]

    await incident.sees(escalating())
    await incident.happens("created", 2)
    assert marked(incident) == ["first"]


@pytest.mark.rule("NHC 2.4/2")
async def test_each_act_is_told_of_the_requests_of_its_own_step_alone(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    second = incident.cluster.request_of("second").reference
    await incident.cluster.lose_requests()
    await incident.wake()
    await incident.happens("act", 3)
    await settle(incident)
    assert [asked.step.template.name for asked in incident.cluster.acts][:3] == ["first", "second", "second"]
    assert [asked.known for asked in incident.cluster.acts][:3] == [(), (), (second,)]


@pytest.mark.rule("NHC 2.5/durations")
async def test_lease_is_kept_for_the_time_of_the_step_that_runs(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    assert (await incident.state()).memory.lease.duration_seconds == 300
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    assert (await rests(incident, Phase.REMEDIATING)).memory.lease.duration_seconds == 120


async def test_second_act_that_is_refused_keeps_the_lease(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    incident.cluster.refusals.append(hold(HoldReason.TEMPLATE))
    await fail_steps(incident, "first")
    await rests(incident, Phase.HELD)
    assert [asked.holds_lease for asked in incident.cluster.attempts] == [False, True]
    assert incident.cluster.is_leased

    await incident.wake()
    await incident.happens("created", 2)
    assert [asked.holds_lease for asked in incident.cluster.attempts] == [False, True, True]


async def test_first_act_that_is_refused_claims_no_lease_later(incident: IncidentDriver) -> None:
    incident.cluster.refusals.extend([hold(HoldReason.TAKEN), hold(HoldReason.TAKEN)])
    await incident.start(escalating())
    for _ in range(2):
        await rests(incident, Phase.HELD)
        await incident.wake()
    await incident.happens("created")
    assert [asked.holds_lease for asked in incident.cluster.attempts] == [False, False, False]


@pytest.mark.rule("rule 21")
async def test_act_says_whether_a_request_exists_already(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    assert [asked.is_under_way for asked in incident.cluster.acts] == [False, True]


@pytest.mark.rule("rule 10/steps")
async def test_running_step_ends_as_before_when_the_list_changes_and_the_next_one_is_of_the_new_list(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    third, second = reversed(escalating().steps[1:])
    await incident.sees(escalating(expired(), third, second))
    assert (await rests(incident, Phase.REMEDIATING)).requests[0].reference.template == "first"
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    assert incident.cluster.tried == ["first", "third"]


@pytest.mark.rule("rule 10/edit")
async def test_edited_timeout_counts_from_the_start_of_the_step(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    began = incident.cluster.request_of("first").created
    first, *others = escalating().steps
    await incident.sees(escalating(expired(), first.model_copy(update={"timeout_seconds": 60}), *others))
    await settle(incident)
    await pass_until(incident, began + timedelta(seconds=60) + A_BIT)
    await incident.happens("created", 2)
    assert incident.cluster.times("created")[1] - began < timedelta(seconds=60) + 3 * A_BIT
