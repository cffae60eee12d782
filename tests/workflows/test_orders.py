from dataclasses import replace
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from health.model.incident_result import Timeline
from health.model.moves import Phase
from health.runbook.memory_parts import Delays
from health.runbook.orders import ORDERS, AbortOrder, HoldOrder, ResumeOrder
from health.runbook.state import Memory
from objects.short_text import CUT, LONGEST_TEXT
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import settle
from tests.support.values.longest import payload_bytes
from tests.support.values.observations import held
from workflows.messages import ORDER_REFUSED, WAKE

NO_TIMES = ("soon", 0, -60, 1e12, float("inf"))
"""The last but one is beyond the calendar."""
MALFORMED = ("now", *({"for_seconds": time} for time in NO_TIMES))
OF_UNKNOWN_ENCODING = RawValue(Payload(metadata={"encoding": b"gzip"}, data=b"{"))
HOSTILE: tuple[tuple[object, ...], ...] = (
    ({"reason": "a"}, {"reason": "b"}),
    (None, None),
    (1, 2, 3),
    ([[[]]],),
    ("now",),
    ({"reason": [1e300]},),
    ({"for_second": 60},),
    (OF_UNKNOWN_ENCODING,),
    (OF_UNKNOWN_ENCODING, "now"),
)
"""The values of one message; Temporal passes on what any client with the right to write sends."""

UNTOLD: dict[str, Any] = {"delays": Delays(), "holds": (), "steps": (), "timeline": Timeline()}


async def test_orders_need_no_argument_and_resume_asks_again_at_once(incident: IncidentDriver) -> None:
    await incident.start(held())
    assert await incident.abort() == "cleans up and leaves Node/node-1 alone; until resume or its recovery"
    await incident.reaches(Phase.LEFT_ALONE)
    await settle(incident)
    asked = incident.cluster.count("observe")
    assert not any(question.skips_back_off for question in incident.cluster.questions)
    answer = await incident.resume()
    assert answer.startswith("takes care of Node/node-1 again; ended the abort (of ")
    await incident.happens("observe", asked + 1)
    await incident.reaches(Phase.HELD)
    assert incident.cluster.questions[asked].skips_back_off
    kept = "does nothing new for Node/node-1 and keeps what exists"
    assert await incident.hold() == f"{kept}; until resume or its recovery"


async def test_orders_take_one_json_value_whose_reason_may_be_long_and_in_any_script(
    incident: IncidentDriver,
) -> None:
    await incident.start(held())
    assert "disk swap" in await incident.abort({"reason": "disk swap", "for_seconds": 60})
    assert "disk swap" in (await incident.reaches(Phase.LEFT_ALONE)).details
    assert "done" in await incident.resume(ResumeOrder(reason="done"))
    await incident.reaches(Phase.HELD)
    await incident.abort(AbortOrder(reason="停電 " * 400, for_seconds=600))
    assert "停電" in (await incident.reaches(Phase.LEFT_ALONE)).details


@pytest.mark.parametrize("name", ORDERS)
async def test_every_order_takes_one_json_value_as_an_update_and_as_a_signal(
    incident: IncidentDriver, name: str
) -> None:
    """A refusal of the state is an answer too, unlike an error about the JSON value."""
    await incident.start(held())
    value = {"reason": f"{name} by JSON", "identity": "ada"}
    value |= {"step": "reboot"} if "step" in ORDERS[name].message.model_fields else {}
    assert f"{name} by JSON" in await _answer(incident, name, value)
    await incident.handle.signal(name, value | {"reason": f"{name} by signal"})
    given = [one for one in (await incident.state()).memory.orders if one.order == name]
    assert (given[-1].reason, given[-1].identity) == (f"{name} by signal", "ada")


async def _answer(incident: IncidentDriver, name: str, value: dict[str, str]) -> str:
    """The answer of the update; for an order that the state refuses its reason."""
    try:
        return str(await incident.handle.execute_update(name, value))
    except WorkflowUpdateFailedError as error:
        if isinstance(error.cause, ApplicationError) and error.cause.type == ORDER_REFUSED:
            return value["reason"]
        raise


@pytest.mark.parametrize("kind", [AbortOrder, HoldOrder, ResumeOrder])
def test_reason_and_step_of_an_order_are_cut_where_a_reader_sees_it(
    kind: type[AbortOrder | HoldOrder | ResumeOrder],
) -> None:
    order = kind.model_validate({"reason": "€" * 3_000_000, "step": "x" * 3_000_000})
    texts = [text for text in order.model_dump().values() if isinstance(text, str) and text]

    assert texts
    assert all(text.endswith(CUT) for text in texts)
    assert payload_bytes(order) < 3 * LONGEST_TEXT


async def test_malformed_order_is_answered_with_an_error_and_changes_nothing(
    incident: IncidentDriver,
) -> None:
    await incident.start(held())
    for name in ("abort", "hold"):
        for order in MALFORMED:
            with pytest.raises(WorkflowUpdateFailedError):
                await incident.handle.execute_update(name, order)
    state = await incident.state()
    assert state.phase is Phase.HELD
    assert replace(state.memory, **UNTOLD) == Memory()


@pytest.mark.parametrize("values", HOSTILE, ids=str)
async def test_incident_lives_on_whatever_the_values_of_a_signal_are(
    incident: IncidentDriver, values: tuple[object, ...]
) -> None:
    """A handler that raises an error would stop the incident, because Temporal repeats its task for ever."""
    await incident.start(held())
    for name in ORDERS:
        await incident.handle.signal(name, args=values)
    await incident.handle.signal(WAKE, args=values)
    await incident.wake()
    await incident.happens("observe")
    memory = (await incident.reaches(Phase.HELD)).memory
    assert replace(memory, **UNTOLD) == Memory()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (({"reason": "a"}, {"reason": "b"}), "takes one JSON value (found 2 values)"),
        (("now",), "must be a mapping (found 'now')"),
        (({"for_seconds": -60},), "for_seconds: must be more than 0 (found -60)"),
        (({"for_second": 60},), "it has no field 'for_second'; the fields are for_seconds, identity, reason"),
    ],
)
async def test_sender_of_a_malformed_order_reads_which_field_and_value_are_wrong(
    incident: IncidentDriver, values: tuple[object, ...], words: str
) -> None:
    await incident.start(held())
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await incident.handle.execute_update("hold", args=values)
    assert isinstance(refused.value.cause, ApplicationError)
    assert refused.value.cause.message == words
    assert refused.value.cause.type == ORDER_REFUSED


async def test_field_that_a_newer_command_sends_is_ignored_and_texts_are_on_one_line(
    incident: IncidentDriver,
) -> None:
    await incident.start(held())
    order = {"order_id": "1", "reason": "a\x1b\n\u202eb 停電", "identity": "eve\nroot", "until_noon": True}
    assert "keeps what exists: a b 停電; until" in await incident.handle.execute_update("hold", order)
    held_by = (await incident.state()).memory.held
    assert held_by is not None
    assert (held_by.reason, held_by.identity) == ("a b 停電", "eve root")


async def test_null_is_an_order_without_a_reason(incident: IncidentDriver) -> None:
    """A client of Go or Python that is given no value sends null."""
    await incident.start(held())
    answer = await incident.handle.execute_update("abort", None)
    assert answer == "cleans up and leaves Node/node-1 alone; until resume or its recovery"
    await incident.reaches(Phase.LEFT_ALONE)
    await incident.handle.signal("resume", None)
    await incident.reaches(Phase.HELD)


async def test_malformed_order_by_signal_is_dropped_and_the_incident_lives_on(
    incident: IncidentDriver,
) -> None:
    await incident.start(held())
    for name in ("abort", "hold"):
        await incident.handle.signal(name, {"for_seconds": 1e12})
    await incident.wake()
    await incident.happens("observe")
    memory = (await incident.reaches(Phase.HELD)).memory
    assert replace(memory, **UNTOLD) == Memory()
    assert any("is dropped: " in entry.what for entry in memory.timeline.entries)
