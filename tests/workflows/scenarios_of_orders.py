"""Scenarios of the orders of people, and of a cancel."""

from datetime import UTC, datetime, timedelta

from health.model.approval import ApprovalDefault, RequiredApproval
from health.model.moves import Phase
from health.model.notification import DEFAULT_EVENTS, WantedEvents
from health.model.observation import HoldReason, Observation
from health.model.remediation_order import RemediationOrder
from health.runbook.orders import AbortOrder, ApproveOrder, ClaimOrder, HoldOrder, RejectOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act, be_held, hang_on_a_finalizer, wait
from tests.support.story.settling import rests
from tests.support.values.observations import FIRST, escalating, expired, healthy, hold
from tests.support.values.remediation_orders import ordered, remediation_order
from tests.workflows.stories import MINUTE, begin, recover

HOUR = timedelta(hours=1)


async def _abort_and_recover(incident: IncidentDriver) -> None:
    await incident.abort(AbortOrder(reason="power work"))
    await rests(incident, Phase.LEFT_ALONE)
    await recover(incident)


async def aborted_while_waiting(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await _abort_and_recover(incident)


async def aborted_while_held(incident: IncidentDriver) -> None:
    await begin(incident, be_held)
    await _abort_and_recover(incident)


async def aborted_while_acting(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    aborting = await incident.sends(incident.abort())
    gate.open()
    await aborting
    await rests(incident, Phase.LEFT_ALONE)
    await recover(incident)


async def aborted_while_remediating(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await _abort_and_recover(incident)


async def aborted_while_cleaning_up(incident: IncidentDriver) -> None:
    await begin(incident, hang_on_a_finalizer)
    await incident.abort()
    incident.cluster.remove_finalizer()
    await incident.wake()
    await incident.outcome()


async def aborted_without_a_detector(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["observe"]
    await begin(incident, act)
    gate.close()
    await incident.wake()
    await gate.entered.wait()
    await incident.abort()
    await incident.happens("clean_up")
    await incident.reaches(Phase.LEFT_ALONE)
    gate.open()
    await recover(incident)


async def aborted_for_a_time(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.abort(AbortOrder(reason="power work", for_seconds=600))
    await rests(incident, Phase.LEFT_ALONE)
    await incident.sees(expired())
    await incident.pass_time(10 * MINUTE + MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def aborted_and_resumed(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.abort()
    await rests(incident, Phase.LEFT_ALONE)
    await incident.resume()
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def aborted_and_resumed_by_signal(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.handle.signal("abort", AbortOrder(reason="power work"))
    await rests(incident, Phase.LEFT_ALONE)
    await incident.handle.signal("resume")
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def held_by_a_person(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await incident.hold(HoldOrder(reason="disk swap"))
    await rests(incident, Phase.HELD)
    await incident.sees(expired())
    await incident.happens("observe")
    await incident.resume()
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def held_by_a_person_while_remediating(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.hold(HoldOrder(reason="disk swap"))
    await incident.tells("disk swap")
    await incident.pass_time(10 * MINUTE + MINUTE)
    await incident.happens("renew")
    await recover(incident)


async def held_by_a_person_for_a_time(incident: IncidentDriver) -> None:
    await begin(incident, be_held)
    await incident.hold(HoldOrder(reason="disk swap", for_seconds=600))
    await incident.tells("disk swap")
    await incident.sees(expired())
    await incident.pass_time(10 * MINUTE + MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def claimed_by_people(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.handle.execute_update("claim", ClaimOrder(identity="ada", reason="INC-7"))
    await incident.handle.execute_update("claim", ClaimOrder(identity="bob"))
    await incident.handle.execute_update("unclaim")
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def _order_remediation(incident: IncidentDriver, *, is_held: bool = False) -> RemediationOrder:
    """Start the incident of a node that looks healthy, by an order for an hour."""
    given = datetime.now(UTC)
    order = remediation_order(given=given, until=given + HOUR)
    seen = escalating(ordered(order, admission=None), FIRST)
    await incident.start(seen.held_by(hold(HoldReason.THRESHOLD)) if is_held else seen)
    await rests(incident, Phase.HELD if is_held else Phase.REMEDIATING)
    return order


async def remediated_by_order(incident: IncidentDriver) -> None:
    order = await _order_remediation(incident)
    await incident.sees(healthy().model_copy(update={"order": order}))
    await incident.outcome()


async def order_expired_while_held(incident: IncidentDriver) -> None:
    await _order_remediation(incident, is_held=True)
    await incident.pass_time(HOUR + MINUTE)
    await incident.outcome()


async def order_aborted_while_remediating(incident: IncidentDriver) -> None:
    await _order_remediation(incident)
    await incident.abort(AbortOrder(reason="wrong node"))
    await incident.outcome()


def _needing_approval(default: ApprovalDefault) -> Observation:
    required = RequiredApproval(steps=(0,), expires_after_seconds=1800.0, default=default)
    return expired().model_copy(update={"approval": required})


async def approved_by_a_person(incident: IncidentDriver) -> None:
    await incident.start(_needing_approval(ApprovalDefault.HOLD))
    await incident.tells("ApprovalRequired")
    await rests(incident, Phase.HELD)
    await incident.approve(ApproveOrder(step="t", identity="ada", reason="INC-7"))
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def approved_with_a_receiver_of_notifications(incident: IncidentDriver) -> None:
    wanted = WantedEvents(receiver="oncall", events=DEFAULT_EVENTS, held_for_seconds=1800)
    needing = _needing_approval(ApprovalDefault.HOLD).model_copy(update={"notifies": (wanted,)})
    await incident.start(needing)
    await incident.tells("ApprovalRequired")
    await rests(incident, Phase.HELD)
    await incident.approve(ApproveOrder(step="t", identity="ada", reason="INC-7"))
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(healthy().model_copy(update={"notifies": (wanted,)}))
    await incident.outcome()


async def approved_by_default(incident: IncidentDriver) -> None:
    await incident.start(_needing_approval(ApprovalDefault.APPROVE))
    await incident.tells("ApprovalRequired")
    await rests(incident, Phase.HELD)
    await incident.pass_time(31 * MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def rejected_and_resumed(incident: IncidentDriver) -> None:
    await incident.start(_needing_approval(ApprovalDefault.HOLD))
    await incident.tells("ApprovalRequired")
    await rests(incident, Phase.HELD)
    await incident.reject(RejectOrder(step="t", identity="bob", reason="disk swap"))
    await incident.tells("StepRejected")
    await incident.resume()
    await incident.tells("ApprovalRequired")
    await incident.pass_time(31 * MINUTE)
    await incident.tells("expired at")
    await recover(incident)


async def cancelled_while_waiting(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await incident.handle.cancel()
    await rests(incident, Phase.LEFT_ALONE)
    await recover(incident)


async def cancelled_while_acting(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    await incident.handle.cancel()
    await incident.wake()
    gate.open()
    await rests(incident, Phase.LEFT_ALONE)
    await recover(incident)


async def cancelled_while_cleaning_up(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["clean_up"]
    await begin(incident, act)
    gate.close()
    await incident.sees(healthy())
    await gate.entered.wait()
    await incident.handle.cancel()
    gate.open()
    await incident.outcome()
