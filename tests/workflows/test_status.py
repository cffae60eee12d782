"""The reports of an incident: its orders by their values, its log lines, and its result for the UI."""

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO

import pytest

from health.model.moves import Outcome, Phase
from health.model.order import OrderRecord
from health.runbook.decide import next_move
from health.runbook.orders import HoldOrder
from health.runbook.state import Memory
from runtime.process import JsonFormatter
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import fail_steps, take_first_step
from tests.support.story.settling import rests, settle
from tests.support.values.builders import MINUTE, NOW, seen
from tests.support.values.memories import order
from tests.support.values.observations import escalating, healthy, released, waiting
from workflows.status import IncidentStatus

HELD = order("hold", "disk swap")
FOR_A_TIME = order("hold", "disk swap", until=NOW + MINUTE)


def said_of(held: OrderRecord | None) -> IncidentStatus:
    memory = Memory(standing=(held,) if held else ())
    return IncidentStatus.of(next_move(seen(), memory, NOW), memory)


@pytest.mark.parametrize("held", [None, HELD, FOR_A_TIME])
def test_hold_that_was_said_is_not_said_again(held: OrderRecord | None) -> None:
    assert said_of(held).is_true_of(Memory(standing=(held,) if held else ()))


@pytest.mark.parametrize(("before", "held"), [(None, HELD), (HELD, None), (HELD, FOR_A_TIME)])
def test_other_hold_is_said_anew_whatever_its_reason(
    before: OrderRecord | None, held: OrderRecord | None
) -> None:
    assert not said_of(before).is_true_of(Memory(standing=(held,) if held else ()))


@pytest.fixture
def written() -> Iterator[StringIO]:
    stream, logger = StringIO(), logging.getLogger("temporalio.workflow")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(level)


async def test_each_move_of_an_incident_is_a_line_with_its_keys(
    incident: IncidentDriver, written: StringIO
) -> None:
    await incident.start(waiting())
    await incident.reaches(Phase.WAITING)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    line = next(one for one in lines if one["workflow_id"] == incident.handle.id)
    assert line["message"].startswith("incident moves on")
    assert line["phase"] == "Waiting"
    assert line["check"] == str(incident.reference.check)
    assert line["target"] == incident.reference.target.name
    assert line["run_id"]


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
