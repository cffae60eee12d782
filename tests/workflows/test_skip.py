"""The order `skip`: the next step of an escalation is taken now, once, and as admitted."""

from datetime import timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from health.model.remediation_request import TIMED_OUT
from health.runbook.orders import HoldOrder, SkipOrder
from health.runbook.state import Memory
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import take_first_step
from tests.support.story.settling import rests, settle
from tests.support.values.observations import escalating, healthy, held, hold

SKIP_FIRST = SkipOrder(step="first", reason="it cannot boot")


@pytest.mark.rule("NHC 1.7/nhc-timed-out", "NHC 2.4/6/kept")
async def test_skip_marks_the_request_keeps_it_and_takes_the_next_step_long_before_the_timeout(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    began = await incident.now()
    assert await incident.skip(SKIP_FIRST) == (
        "ends the step first of Node/node-1 with the next answer of the detector, "
        "and takes the next one when it is admitted: it cannot boot"
    )
    await incident.happens("created", 2)
    state = await rests(incident, Phase.REMEDIATING)

    assert incident.cluster.tried == ["first", "second"]
    assert [(one, *names) for one, names in incident.cluster.annotated] == [("first", TIMED_OUT)]
    assert await incident.now() - began < timedelta(minutes=5), "the timeout of the first step"
    assert [request.reference.template for request in state.requests] == ["first", "second"]
    assert (state.memory.skipped, state.memory.orders[-1].refused) == ((state.requests[0].uid,), "")

    await incident.sees(escalating(healthy()))
    result = await incident.result()
    assert result.outcome is Outcome.REMEDIATED
    assert [(order.order, order.step, order.reason) for order in result.orders] == [
        ("skip", "first", "it cannot boot")
    ]


async def test_second_skip_of_a_step_is_refused_and_ends_no_other(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    await incident.skip({"step": "first"})
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    assert await incident.refusal("skip", SKIP_FIRST) == (
        "the step 'first' does not run; RebootTemplate/second runs"
    )
    await settle(incident)
    assert incident.cluster.tried == ["first", "second"]


async def test_skip_that_arrives_twice_while_the_detector_is_away_is_one_order(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    gate = incident.cluster.gates["observe"]
    gate.close()
    for _ in range(2):
        await incident.handle.signal("skip", SKIP_FIRST)
    await gate.entered.wait()
    assert [order.is_pending for order in (await incident.state()).memory.orders] == [True]
    gate.open()
    await incident.happens("created", 2)
    state = await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == ["first", "second"]
    assert [order.refused for order in state.memory.orders] == [""]


async def test_skip_during_a_hold_is_refused_and_a_hold_after_it_keeps_the_next_step(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    await incident.hold(HoldOrder(reason="disk swap"))
    await incident.tells("disk swap")
    await settle(incident)
    assert (
        await incident.refusal("skip", SKIP_FIRST)
        == "an order stands and needs resume first: hold: disk swap"
    )
    await incident.resume()
    await settle(incident)

    await incident.sees(escalating(held(HoldReason.LIMIT)))
    await incident.skip(SKIP_FIRST)
    await incident.happens("annotate")
    await rests(incident, Phase.HELD)
    await incident.hold(HoldOrder(reason="disk swap"))
    await incident.tells("disk swap")
    await incident.sees(escalating())
    await settle(incident)
    assert incident.cluster.tried == ["first"]
    await incident.resume()
    await incident.happens("created", 2)


async def test_refused_act_of_the_next_step_is_tried_again_and_the_skip_stays(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    incident.cluster.refusals.append(hold(HoldReason.TEMPLATE))
    await incident.skip(SKIP_FIRST)
    await rests(incident, Phase.HELD)
    await incident.pass_time(timedelta(minutes=31))
    await incident.happens("created", 2)


async def test_skip_that_meets_a_new_run_is_decided_by_its_first_answer(incident: IncidentDriver) -> None:
    """A run that continues as new has no observation yet when the order arrives."""
    request = incident.cluster.put_request(template="first")
    gate = incident.cluster.gates["observe"]
    gate.close()
    memory = Memory(requests=(request.reference,), has_acted=True)
    await incident.carry_on(memory, escalating())
    await gate.entered.wait()
    assert "ends the step first" in await incident.skip(SKIP_FIRST)
    gate.open()
    await incident.happens("created")
    assert incident.cluster.tried == ["second"]


async def test_skip_is_remembered_over_runs(long_incident: IncidentDriver) -> None:
    incident = long_incident
    await take_first_step(incident)
    incident.cluster.report("first", succeeded=True)
    await incident.skip(SKIP_FIRST)
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await incident.wake_until_continued()
    state = await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == ["first", "second"]
    assert [order.order for order in state.memory.orders] == ["skip"]
    assert await incident.refusal("skip", SKIP_FIRST) == (
        "the step 'first' does not run; RebootTemplate/second runs"
    )
