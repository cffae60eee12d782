"""The result of a workflow in the Temporal UI: the outcome of the incident, with its requests and orders."""

from datetime import timedelta

from health.model.moves import Outcome, Phase
from health.runbook.orders import HoldOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import fail_steps, take_first_step
from tests.support.story.settling import rests, settle
from tests.support.values.observations import escalating, healthy, released, waiting

MOMENT = timedelta(seconds=1)


async def test_result_says_what_became_of_requests_attempts_and_orders(incident: IncidentDriver) -> None:
    await take_first_step(incident)
    begun = (await incident.handle.describe()).start_time
    await fail_steps(incident, "first")
    await rests(incident, Phase.REMEDIATING)
    await incident.hold(HoldOrder(reason="disk swap", for_seconds=600))
    await incident.resume()
    await settle(incident)
    await incident.sees(escalating(healthy()))
    result = await incident.result()

    assert result.outcome is Outcome.REMEDIATED
    assert result.reason == "Node/node-1 is healthy"
    assert result.attempts == 1
    assert result.deleted is None
    assert abs(result.started - begun) < MOMENT
    assert result.started < result.ended
    assert [record.template for record in result.requests] == ["first", "second"]
    for request in result.requests:
        assert request.request == "Reboot/ns/node-1"
        assert request.ended is not None
        assert result.started - MOMENT <= request.started <= request.ended <= result.ended
    held, resumed = result.orders
    assert (held.order, held.reason) == ("hold", "disk swap")
    assert held.until is not None
    assert (resumed.order, resumed.until) == ("resume", None)


async def test_incident_that_did_nothing_says_so(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await rests(incident, Phase.WAITING)
    await incident.sees(released())
    result = await incident.result()
    assert result.outcome is Outcome.RELEASED
    assert "no longer selects" in result.reason
    assert (result.attempts, result.requests, result.orders) == (0, (), ())
