"""How a user's order changes the memory of an incident; these tests need no server."""

from datetime import timedelta

import pytest

from health.model.observation import failed
from health.model.order import OrderMessage
from health.runbook.given_orders import ordered
from health.runbook.orders import AbortOrder, HoldOrder, ResumeOrder
from health.runbook.state import Memory, NewStart
from tests.support.values.builders import NOW, REBOOT, seen

pytestmark = pytest.mark.rule("rule 40")

POWER_WORK = AbortOrder(reason="power work", for_seconds=600)
DISK_SWAP = HoldOrder(reason="disk swap")
LATER = NOW + timedelta(minutes=1)
FAILING = Memory().having_failed_to_act(failed("500"), seen(), NOW, 0, is_forbidden=False)
RUNNING = Memory(spent=(REBOOT,))
EXHAUSTED = RUNNING.model_copy(update={"is_exhausted": True})


@pytest.mark.parametrize("order", [POWER_WORK, DISK_SWAP, ResumeOrder()])
def test_order_is_remembered_and_what_waits_to_be_cleaned_up_is_tried_at_once(order: OrderMessage) -> None:
    memory = ordered(Memory(clean_up_at=LATER), order, NOW)
    assert memory.clean_up_at is None
    assert [record.reason for record in memory.orders] == [order.reason]


def test_second_abort_changes_nothing_but_the_reason_and_the_time() -> None:
    first = ordered(Memory(), POWER_WORK, NOW)
    assert first.left_alone is not None
    assert first.left_alone.until == NOW + timedelta(minutes=10)
    second = ordered(first, AbortOrder(reason="more of it"), LATER)
    assert second.left_alone is not None
    assert (second.left_alone.reason, second.left_alone.until) == ("more of it", None)
    assert second.model_copy(update={"standing": (), "orders": ()}) == Memory()


def test_abort_and_hold_add_up_and_resume_ends_both() -> None:
    both = ordered(ordered(Memory(), DISK_SWAP, NOW), POWER_WORK, NOW)
    assert both.held is not None
    assert both.held.reason == "disk swap"
    assert both.left_alone is not None
    resumed = ordered(both, ResumeOrder(), NOW)
    assert resumed.standing == ()
    assert ordered(resumed, ResumeOrder(), NOW).model_copy(update={"orders": resumed.orders}) == resumed


def test_resume_acts_at_once_after_acts_that_failed_and_between_two_attempts() -> None:
    assert FAILING.failing is not None
    resumed = ordered(FAILING, ResumeOrder(), NOW)
    assert resumed.failing is None
    assert resumed.skips_back_off
    assert not ordered(FAILING, DISK_SWAP, NOW).skips_back_off


@pytest.mark.rule("rule 40/exhausted")
@pytest.mark.parametrize(
    ("before", "step", "expected"),
    [
        pytest.param(RUNNING, "", None, id="a step runs: it is left alone"),
        pytest.param(RUNNING, "reset", NewStart(first_step="reset"), id="unless one is named"),
        pytest.param(EXHAUSTED, "", NewStart(), id="no step was left"),
        pytest.param(EXHAUSTED, "reset", NewStart(first_step="reset"), id="no step was left, one is named"),
    ],
)
def test_resume_begins_anew_where_no_step_is_left_or_one_is_named(
    before: Memory, step: str, expected: NewStart | None
) -> None:
    assert ordered(before, ResumeOrder(step=step), NOW).starts_over == expected
