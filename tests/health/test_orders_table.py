"""The table of orders: its rows, claims, standing orders and their end."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.approval import Approval, ApprovalAnswer
from health.model.moves import Phase, Wait
from health.model.order import Blocks, OrderMessage, OrderRecord, StandingOrder
from health.runbook.decide import next_move
from health.runbook.orders import (
    ABORT,
    HOLD,
    ORDERS,
    AbortOrder,
    ClaimOrder,
    HoldOrder,
    OrderContext,
    OrderSpec,
    ResumeOrder,
    SkipOrder,
    UnclaimOrder,
    answer_to,
    claim_of,
    ordered,
    spec_of,
)
from health.runbook.state import Memory
from health.runbook.step_orders import why_blocked
from tests.support.values.builders import FIRST, MINUTE, NOW, seen

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


ADA = HoldOrder(identity="ada@vm", reason="replacing its disk")
BOB = AbortOrder(identity="bob@vm", for_seconds=3600)
HELD = "it is held until resume or its recovery by ada@vm: replacing its disk; resume first to shorten it"
LEFT_ALONE = "it is left alone until 2026-03-01T13:00:00Z by bob@vm; resume first to shorten it"
GIVEN_ORDERS = st.one_of(
    st.sampled_from((ClaimOrder(), UnclaimOrder(), SkipOrder(step="reboot"))),
    st.builds(
        lambda kind, seconds: kind(for_seconds=seconds),
        st.sampled_from((HoldOrder, AbortOrder)),
        st.none() | st.integers(1, 600),
    ),
)


def why_refused(memory: Memory, order: StandingOrder, now: datetime) -> str:
    situation = OrderContext(phase=Phase.HELD, memory=memory, observation=seen(), now=now)
    refusal = spec_of(order).refused(order, situation)
    return refusal.why if refusal else ""


@pytest.mark.parametrize(
    ("standing", "later", "why"),
    [
        (ADA, HoldOrder(for_seconds=60), HELD),
        (ADA, HoldOrder(), ""),
        (ADA, AbortOrder(for_seconds=60), ""),
        (BOB, AbortOrder(for_seconds=3539), LEFT_ALONE),
        (BOB, AbortOrder(for_seconds=3540), ""),
        (BOB, AbortOrder(for_seconds=9000), ""),
        (BOB, AbortOrder(), ""),
        (BOB, HoldOrder(for_seconds=60), ""),
        (HoldOrder(for_seconds=30), HoldOrder(for_seconds=1), ""),
    ],
)
def test_order_that_would_end_sooner_is_refused_with_the_standing_one(
    standing: StandingOrder, later: StandingOrder, why: str
) -> None:
    """The second order comes a minute later, as an update, and as a signal, which is recorded as refused."""
    memory, now = ordered(Memory(), standing, NOW), NOW + MINUTE
    assert why_refused(memory, later, now) == why
    after = ordered(memory, later, now)
    assert after.orders[-1].refused == why
    assert (after.standing == memory.standing) is bool(why)


def blocked_until(memory: Memory) -> datetime:
    """When the last of the standing orders that block steps ends; they are never over before."""
    never = datetime.max.replace(tzinfo=NOW.tzinfo)
    return max((order.until or never for order in memory.blocking), default=NOW)


@given(orders=st.lists(st.tuples(GIVEN_ORDERS, st.integers(0, 300)), max_size=12))
def test_no_order_but_resume_lets_a_blocked_incident_act_earlier(
    orders: list[tuple[HoldOrder | AbortOrder, int]],
) -> None:
    memory, now = Memory(), NOW
    for order, pause in orders:
        now += timedelta(seconds=pause)
        before, memory = memory.at(now), ordered(memory.at(now), order, now)
        assert blocked_until(memory) >= blocked_until(before)
        for name in (HOLD.name, ABORT.name):
            kept = [one for one in before.standing if one.order == name]
            assert len([one for one in memory.standing if one.order == name]) >= len(kept)


HELD_BY_ADA = HoldOrder(identity="ada@desk", reason="replacing its disk")
ABORTED_BY_BOB = AbortOrder(identity="bob@home")
END = "; until resume or its recovery"
CLAIM = ClaimOrder(identity="eve@desk")
ENDS_HOLD = "the hold by ada@desk: replacing its disk (of 2026-03-01T12:00:00Z)"
ENDS_ABORT = "the abort by bob@home (of 2026-03-01T12:01:00Z)"


def answer(memory: Memory, order: OrderMessage) -> str:
    situation = OrderContext(phase=Phase.HELD, memory=memory, observation=seen(), now=NOW + 2 * MINUTE)
    return answer_to(order, "Node/node-1", situation)


def memory_after(*orders: OrderMessage) -> Memory:
    """The memory after these orders, a minute apart."""
    memory = Memory()
    for number, order in enumerate(orders):
        memory = ordered(memory, order, NOW + number * MINUTE)
    return memory


@pytest.mark.parametrize(
    ("memory", "order", "ended"),
    [
        (memory_after(), ResumeOrder(), ""),
        (memory_after(CLAIM), ResumeOrder(), ""),
        (memory_after(HELD_BY_ADA), ResumeOrder(), f"; ended {ENDS_HOLD}"),
        (memory_after(HELD_BY_ADA, ABORTED_BY_BOB), ResumeOrder(), f"; ended {ENDS_HOLD}, and {ENDS_ABORT}"),
        (memory_after(HELD_BY_ADA), ResumeOrder(reason="done"), f": done; ended {ENDS_HOLD}"),
        (memory_after(HoldOrder(for_seconds=60)), ResumeOrder(), ""),
    ],
)
def test_resume_names_each_order_that_it_ended(memory: Memory, order: ResumeOrder, ended: str) -> None:
    assert answer(memory, order) == f"takes care of Node/node-1 again{ended}"


def test_second_hold_names_the_one_that_it_replaces_and_abort_ends_no_hold() -> None:
    assert answer(memory_after(HELD_BY_ADA), HoldOrder(reason="and its fan")).endswith(
        f"fan{END}; ended {ENDS_HOLD}"
    )
    assert answer(memory_after(HELD_BY_ADA), ABORTED_BY_BOB) == f"cleans up and leaves Node/node-1 alone{END}"


def test_resume_that_arrives_twice_ends_nothing_the_second_time() -> None:
    resume = ResumeOrder(order_id="1")
    memory = ordered(memory_after(resume), HELD_BY_ADA, NOW + MINUTE)
    assert answer(memory, resume) == "takes care of Node/node-1 again"


def test_resume_names_the_rejection_that_it_ended() -> None:
    asked = Approval(step=FIRST, names=("reboot",), asked_at=NOW)
    rejected = asked.answered(ApprovalAnswer.REJECTED, "by ada@desk: no spare", NOW)
    words = "; ended the rejection of reboot by ada@desk: no spare (of 2026-03-01T12:00:00Z)"
    assert answer(Memory(approval=rejected), ResumeOrder()).endswith(words)
    approved = asked.answered(ApprovalAnswer.APPROVED, "by ada@desk", NOW)
    assert "ended" not in answer(Memory(approval=approved), ResumeOrder())


def test_answer_says_until_when_an_order_stands_before_the_orders_that_it_ended() -> None:
    short = memory_after(HoldOrder(for_seconds=180, identity="ada@desk"))
    assert answer(short, HoldOrder(for_seconds=1200)) == (
        "does nothing new for Node/node-1 and keeps what exists; until 2026-03-01T12:22:00Z (in 20m); "
        "ended the hold by ada@desk (of 2026-03-01T12:00:00Z)"
    )


CLAIM_ROW, UNCLAIM = ORDERS["claim"], ORDERS["unclaim"]
ADAS_CLAIM = ClaimOrder(identity="ada@desk", reason="INC-7")
BOBS_CLAIM = ClaimOrder(identity="bob@home")
CLAIMED = ordered(Memory(), ADAS_CLAIM, NOW)


def situation(memory: Memory, phase: Phase = Phase.HELD) -> OrderContext:
    return OrderContext(phase=phase, memory=memory, observation=seen(), now=NOW)


def test_claim_blocks_nothing() -> None:
    assert next_move(seen(), CLAIMED, NOW) == next_move(seen(), Memory(), NOW)
    assert CLAIMED.intent(NOW) == Memory().intent(NOW)
    assert why_blocked(CLAIMED) is None


def test_next_claim_replaces_the_earlier_one_and_its_answer_says_whose_it_was() -> None:
    answer = answer_to(BOBS_CLAIM, "Node/node-1", situation(CLAIMED))
    assert answer == (
        "shows your claim on Node/node-1 until unclaim, and goes on; "
        "ended the claim by ada@desk: INC-7 (of 2026-03-01T12:00:00Z)"
    )
    memory = ordered(CLAIMED, BOBS_CLAIM, NOW + MINUTE)
    assert [one.identity for one in memory.standing] == ["bob@home"]
    assert [one.identity for one in memory.orders] == ["ada@desk", "bob@home"]


def test_first_claim_says_nothing_of_another_one() -> None:
    answer = answer_to(ADAS_CLAIM, "Node/node-1", situation(Memory()))
    assert answer == "shows your claim on Node/node-1 until unclaim, and goes on: INC-7"


def test_claim_outlasts_resume_and_ends_with_unclaim_alone() -> None:
    memory = ordered(ordered(CLAIMED, HoldOrder(), NOW), ResumeOrder(), NOW)
    assert [one.order for one in memory.standing] == ["claim"]
    held = ordered(ordered(CLAIMED, HoldOrder(), NOW), UnclaimOrder(), NOW)
    assert [one.order for one in held.standing] == ["hold"]
    assert claim_of(held) is None


def test_only_a_claimed_incident_can_be_unclaimed() -> None:
    refusal = UNCLAIM.refused(UnclaimOrder(), situation(Memory()))
    assert refusal is not None
    assert refusal.why == "it is not claimed"
    assert UNCLAIM.refused(UnclaimOrder(), situation(CLAIMED)) is None


def test_show_proposes_a_claim_or_its_end() -> None:
    for phase in Phase:
        assert CLAIM_ROW.is_offered(situation(Memory(), phase)) is (phase is not Phase.ENDED)
        assert not UNCLAIM.is_offered(situation(Memory(), phase))
        assert not CLAIM_ROW.is_offered(situation(CLAIMED, phase))
        assert UNCLAIM.is_offered(situation(CLAIMED, phase))
