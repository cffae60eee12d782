"""A second hold or abort replaces the first one, and never ends sooner."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import Phase
from health.model.order import StandingOrder
from health.runbook.orders import (
    ABORT,
    HOLD,
    AbortOrder,
    ClaimOrder,
    HoldOrder,
    OrderContext,
    SkipOrder,
    UnclaimOrder,
    ordered,
    spec_of,
)
from health.runbook.state import Memory
from tests.support.values.builders import MINUTE, NOW, seen

ADA = HoldOrder(identity="ada@vm", reason="replacing its disk")
BOB = AbortOrder(identity="bob@vm", for_seconds=3600)
HELD = "it is held until resume or its recovery by ada@vm: replacing its disk; resume first to shorten it"
LEFT_ALONE = "it is left alone until 2026-03-01T13:00:00Z by bob@vm; resume first to shorten it"
ORDERS = st.one_of(
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


@given(orders=st.lists(st.tuples(ORDERS, st.integers(0, 300)), max_size=12))
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
