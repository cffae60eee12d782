"""The answer to an order names each earlier order that it ends, with its person and time."""

import pytest

from health.model.approval import Approval, ApprovalAnswer
from health.model.moves import Phase
from health.model.order import OrderMessage
from health.runbook.orders import (
    AbortOrder,
    ClaimOrder,
    HoldOrder,
    OrderContext,
    ResumeOrder,
    answer_to,
    ordered,
)
from health.runbook.state import Memory
from tests.support.values.builders import FIRST, MINUTE, NOW, seen

HOLD = HoldOrder(identity="ada@desk", reason="replacing its disk")
ABORT = AbortOrder(identity="bob@home")
END = "; until resume or its recovery"
CLAIM = ClaimOrder(identity="eve@desk")
ENDS_HOLD = "the hold by ada@desk: replacing its disk (of 2026-03-01T12:00:00Z)"
ENDS_ABORT = "the abort by bob@home (of 2026-03-01T12:01:00Z)"


def answer(memory: Memory, order: OrderMessage) -> str:
    situation = OrderContext(phase=Phase.HELD, memory=memory, observation=seen(), now=NOW + 2 * MINUTE)
    return answer_to(order, "Node/node-1", situation)


def given(*orders: OrderMessage) -> Memory:
    """The memory after these orders, a minute apart."""
    memory = Memory()
    for number, order in enumerate(orders):
        memory = ordered(memory, order, NOW + number * MINUTE)
    return memory


@pytest.mark.parametrize(
    ("memory", "order", "ended"),
    [
        (given(), ResumeOrder(), ""),
        (given(CLAIM), ResumeOrder(), ""),
        (given(HOLD), ResumeOrder(), f"; ended {ENDS_HOLD}"),
        (given(HOLD, ABORT), ResumeOrder(), f"; ended {ENDS_HOLD}, and {ENDS_ABORT}"),
        (given(HOLD), ResumeOrder(reason="done"), f": done; ended {ENDS_HOLD}"),
        (given(HoldOrder(for_seconds=60)), ResumeOrder(), ""),
    ],
)
def test_resume_names_each_order_that_it_ended(memory: Memory, order: ResumeOrder, ended: str) -> None:
    assert answer(memory, order) == f"takes care of Node/node-1 again{ended}"


def test_second_hold_names_the_one_that_it_replaces_and_abort_ends_no_hold() -> None:
    assert answer(given(HOLD), HoldOrder(reason="and its fan")).endswith(f"fan{END}; ended {ENDS_HOLD}")
    assert answer(given(HOLD), ABORT) == f"cleans up and leaves Node/node-1 alone{END}"


def test_resume_that_arrives_twice_ends_nothing_the_second_time() -> None:
    resume = ResumeOrder(order_id="1")
    memory = ordered(given(resume), HOLD, NOW + MINUTE)
    assert answer(memory, resume) == "takes care of Node/node-1 again"


def test_resume_names_the_rejection_that_it_ended() -> None:
    asked = Approval(step=FIRST, names=("reboot",), asked_at=NOW)
    rejected = asked.answered(ApprovalAnswer.REJECTED, "by ada@desk: no spare", NOW)
    words = "; ended the rejection of reboot by ada@desk: no spare (of 2026-03-01T12:00:00Z)"
    assert answer(Memory(approval=rejected), ResumeOrder()).endswith(words)
    approved = asked.answered(ApprovalAnswer.APPROVED, "by ada@desk", NOW)
    assert "ended" not in answer(Memory(approval=approved), ResumeOrder())


def test_answer_says_until_when_an_order_stands_before_the_orders_that_it_ended() -> None:
    short = given(HoldOrder(for_seconds=180, identity="ada@desk"))
    assert answer(short, HoldOrder(for_seconds=1200)) == (
        "does nothing new for Node/node-1 and keeps what exists; until 2026-03-01T12:22:00Z (in 20m); "
        "ended the hold by ada@desk (of 2026-03-01T12:00:00Z)"
    )
