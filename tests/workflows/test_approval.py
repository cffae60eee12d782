"""A step that waits for a person: what the incident asks and reports, and what ends the wait."""

from datetime import timedelta

from health.model.approval import ApprovalDefault, RequiredApproval
from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason, Observation
from health.runbook.learn import BY_DEFAULT
from health.runbook.orders import ApproveOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import fail_steps
from tests.support.story.settling import REAL_TIME, pass_until, rests, settle
from tests.support.values.observations import escalating, expired, healthy, held

ALL = RequiredApproval(steps=(0, 1, 2))
ADA = ApproveOrder(step="first", identity="ada", reason="INC-7")
MINUTE = timedelta(minutes=1)


def needing(required: RequiredApproval = ALL, observation: Observation | None = None) -> Observation:
    return escalating(observation or expired()).model_copy(update={"approval": required})


def expiring(default: ApprovalDefault) -> RequiredApproval:
    return ALL.model_copy(update={"expires_after_seconds": 1800.0, "default": default})


async def wait_for_approval(incident: IncidentDriver, required: RequiredApproval = ALL) -> None:
    await incident.start(needing(required))
    await incident.tells("waits for approval")
    await rests(incident, Phase.HELD)


async def test_step_is_taken_at_once_after_its_approval_and_the_next_one_is_asked_for(
    incident: IncidentDriver,
) -> None:
    await wait_for_approval(incident)
    assert not incident.cluster.attempts
    answer = await incident.approve(ADA)
    assert answer == ("approves the step first of Node/node-1, which is taken when it is admitted: INC-7")
    given = (await incident.state()).memory.orders[-1].given
    await incident.happens("created")
    assert incident.cluster.times("created")[0] - given < REAL_TIME
    assert incident.cluster.attempts[-1].is_approved
    await rests(incident, Phase.REMEDIATING)

    await fail_steps(incident, "first")
    await incident.tells(": RebootTemplate/second, asked at ")
    assert await incident.refusal("approve", ADA) == (
        "the step 'first' does not wait; RebootTemplate/second does"
    )
    await incident.sees(needing(observation=healthy()))
    result = await incident.result()
    assert result.outcome is Outcome.REMEDIATED
    (order,) = result.orders
    assert (order.order, order.step, order.identity, order.reason) == ("approve", "first", "ada", "INC-7")


async def test_question_is_reported_once_and_the_waiting_incident_asks_nothing_more(
    incident: IncidentDriver,
) -> None:
    await wait_for_approval(incident)
    reports = [asked.progress.approval for asked in incident.cluster.questions]
    assert [one.is_reported for one in reports if one] == [False]
    count = incident.cluster.count("observe")
    await incident.pass_time(timedelta(hours=9))
    await settle(incident)
    assert incident.cluster.count("observe") == count


async def test_approval_before_the_question_and_without_a_step_is_refused(incident: IncidentDriver) -> None:
    await incident.start(needing(observation=held()))
    await rests(incident, Phase.HELD)
    assert await incident.refusal("approve", ADA) == "no step waits for an approval"
    await incident.handle.signal("approve", ADA)
    await incident.sees(needing())
    await incident.tells("ApprovalRequired")
    await rests(incident, Phase.HELD)
    assert await incident.refusal("approve", ApproveOrder()) == (
        "an order to approve names the step; RebootTemplate/first waits"
    )
    (signalled,) = (await incident.state()).memory.orders
    assert signalled.refused == "no step waits for an approval"
    assert not incident.cluster.attempts


async def test_default_answers_when_the_question_expires(incident: IncidentDriver) -> None:
    await wait_for_approval(incident, expiring(ApprovalDefault.APPROVE))
    asked = (await incident.state()).memory.approval
    assert asked is not None
    assert asked.expires_at is not None
    await pass_until(incident, asked.expires_at - MINUTE)
    assert not incident.cluster.attempts
    await pass_until(incident, asked.expires_at + timedelta(seconds=1))
    await rests(incident, Phase.REMEDIATING)
    assert incident.cluster.tried == ["first"]
    (order,) = (await incident.state()).memory.orders
    assert (order.identity, order.is_reported) == (BY_DEFAULT, True)


async def test_limit_is_asked_after_the_approval_and_a_waiting_incident_has_no_admission(
    incident: IncidentDriver,
) -> None:
    await wait_for_approval(incident)
    assert not any(entry.is_admitted for entry in incident.cluster.log[1:])
    incident.cluster.observation = needing(observation=held(HoldReason.LIMIT))
    await incident.approve(ADA)
    await incident.tells("Limit: not now")
    assert not incident.cluster.attempts
    await incident.sees(needing())
    await incident.happens("created")


async def test_act_that_broke_off_is_repeated_under_its_approval_and_a_lost_request_needs_another(
    incident: IncidentDriver,
) -> None:
    await wait_for_approval(incident)
    incident.cluster.failing["act"] = 1
    await incident.approve(ADA)
    await incident.pass_time(MINUTE)
    await incident.happens("created")
    await rests(incident, Phase.REMEDIATING)
    await incident.cluster.lose_requests()
    await incident.wake()
    await incident.tells(": RebootTemplate/first, asked at ")
    assert incident.cluster.tried == ["first"]


async def test_question_and_approval_are_remembered_over_runs(long_incident: IncidentDriver) -> None:
    incident = long_incident
    await wait_for_approval(incident)
    before = (await incident.state()).memory.approval
    await incident.wake_until_continued()
    await incident.tells("ApprovalRequired")
    state = await rests(incident, Phase.HELD)
    assert state.memory.approval == before
    await incident.approve(ADA)
    await incident.happens("created")
    await rests(incident, Phase.REMEDIATING)
