"""The incident of a target that a person ordered to be remediated, on the server."""

from health.check.ordered import Trigger
from health.model.moves import Outcome
from tests.support.story.incident import IncidentDriver
from tests.support.story.outcome import result_of
from tests.workflows.scenarios_of_orders import (
    order_aborted_while_remediating,
    order_expired_while_held,
    remediated_by_order,
)


async def test_order_is_carried_out_until_the_node_boots_and_stays_in_the_history(
    incident: IncidentDriver,
) -> None:
    await remediated_by_order(incident)
    result = await result_of(incident.handle)
    assert result.outcome is Outcome.REMEDIATED
    assert result.ordered is not None
    assert [(one.order, one.reason, one.identity) for one in result.orders] == [
        ("remediate", "its kubelet hangs", "alice")
    ]
    assert incident.cluster.count("created") == 1
    (delay,) = [act.delay for act in incident.cluster.acts]
    assert delay is not None
    assert delay.trigger is Trigger.MANUAL
    assert [asked.order for asked in incident.cluster.clean_ups] == [result.ordered]
    reported = [order.order for asked in incident.cluster.questions for order in asked.orders]
    assert reported == ["remediate"]


async def test_held_order_expires_and_leaves_the_node_as_it_is(incident: IncidentDriver) -> None:
    await order_expired_while_held(incident)
    result = await result_of(incident.handle)
    assert result.outcome is Outcome.RECOVERED
    assert "the order to remediate it is over: it expired at" in result.reason
    assert result.ordered is not None
    assert result.ended >= result.ordered.until
    assert incident.cluster.count("created") == 0
    assert [asked.order for asked in incident.cluster.clean_ups] == [result.ordered]


async def test_abort_ends_the_order_with_its_request(incident: IncidentDriver) -> None:
    await order_aborted_while_remediating(incident)
    result = await result_of(incident.handle)
    assert result.outcome is Outcome.RECOVERED
    assert "a person aborted it" in result.reason
    assert incident.cluster.count("deleted") == 1
    assert [asked.order for asked in incident.cluster.clean_ups][-1] == result.ordered
