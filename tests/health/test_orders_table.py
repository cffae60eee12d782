"""The rows of the table of orders, and orders that are obeyed without their row."""

from typing import Any

import pytest

from health.model.moves import Phase, Wait
from health.model.order import Blocks, OrderRecord, StandingOrder
from health.runbook.decide import next_move
from health.runbook.orders import ORDERS, OrderContext, OrderSpec, ordered, spec_of
from health.runbook.state import Memory
from tests.support.values.builders import MINUTE, NOW, seen

ROWS = pytest.mark.parametrize("spec", ORDERS.values(), ids=list(ORDERS))


@ROWS
def test_order_needs_no_field_and_has_no_reason_of_its_own(spec: OrderSpec[Any]) -> None:
    order = spec.message()
    assert order.reason == ""
    assert spec_of(order) is spec
    assert spec.message.model_validate({}) == order


@ROWS
def test_order_stands_if_and_only_if_it_has_a_label_and_a_time_if_it_blocks(spec: OrderSpec[Any]) -> None:
    memory = ordered(Memory(), spec.message(), NOW)
    assert issubclass(spec.message, StandingOrder) is (spec.blocks is not None)
    assert [one.order for one in memory.standing] == ([spec.name] if spec.label else [])
    assert memory.is_blocked is bool(spec.blocks)


@pytest.mark.parametrize("spec", [spec for spec in ORDERS.values() if spec.label], ids=lambda spec: spec.name)
def test_standing_order_is_ended_by_one_order_of_the_table_and_by_no_other(spec: OrderSpec[Any]) -> None:
    memory = ordered(Memory(), spec.message(), NOW)
    for other in ORDERS.values():
        is_ended = spec.name not in {one.order for one in ordered(memory, other.message(), NOW).standing}
        assert is_ended is (other.name == spec.ended_by), other.name


@ROWS
def test_each_order_is_recorded_with_its_time(spec: OrderSpec[Any]) -> None:
    (record,) = ordered(Memory(), spec.message(reason="power work"), NOW).orders
    assert (record.order, record.reason, record.given) == (spec.name, "power work", NOW)


@ROWS
def test_order_that_is_sent_again_with_its_id_is_obeyed_once(spec: OrderSpec[Any]) -> None:
    order, later = spec.message(reason="power work", order_id="1"), NOW + MINUTE
    memory = ordered(Memory(), order, NOW)
    assert ordered(memory, order, later) == memory
    assert len(ordered(memory, order.model_copy(update={"order_id": "2"}), later).orders) == 2


def freeze(blocks: str) -> Memory:
    return Memory(standing=(OrderRecord(order="freeze", reason="audit", given=NOW, blocks=blocks),))


def test_record_of_an_order_without_a_row_is_obeyed_by_what_it_blocks() -> None:
    held = next_move(seen(), freeze(Blocks.STEPS), NOW)
    left_alone = next_move(seen(), freeze(Blocks.REMEDIATION), NOW)
    assert isinstance(held, Wait)
    assert isinstance(left_alone, Wait)
    assert (held.phase, left_alone.phase) == (Phase.HELD, Phase.LEFT_ALONE)


def test_incident_does_not_ask_to_act_while_an_order_blocks_what_this_version_does_not_know() -> None:
    assert not freeze("Evictions").intent(NOW).would_act
    assert Memory().intent(NOW).would_act


def test_expired_order_blocks_nothing_and_is_offered_no_end() -> None:
    memory = ordered(Memory(), ORDERS["hold"].message(for_seconds=60), NOW)
    situation = OrderContext(
        phase=Phase.REMEDIATING, memory=memory.at(NOW + MINUTE), observation=seen(), now=NOW
    )
    assert not situation.memory.is_blocked
    assert not ORDERS["resume"].is_offered(situation)
