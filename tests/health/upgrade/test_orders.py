"""Orders of people: obeyed once for each check, and never against who came after."""

from datetime import timedelta

import pytest

from health.upgrade.failed_write import WriteOutcome
from health.upgrade.memory import MOST_ORDERS, CheckPauseState
from health.upgrade.orders import OrderName, is_named
from health.upgrade.pausable_check import PauseAction
from tests.support.values.looks import (
    NOTHING,
    NOW,
    actions,
    answered,
    check,
    ordered,
    over,
    passed,
    remembering,
    under_way,
    unknown,
)

PAUSED = remembering(under_way(check()))
LATER = NOW + timedelta(hours=3)


def test_unpause_leaves_the_mark_so_that_a_workflow_made_anew_knows_of_it() -> None:
    done = passed(under_way(check("PM", version=2)), ordered(PAUSED, OrderName.UNPAUSE))

    assert actions(done) == [PauseAction.UNPAUSE_MARKED]
    handled = answered(done).by_uid["uid-a"]
    assert (handled.how, handled.reason, handled.identity) == (CheckPauseState.UNPAUSED, "so I say", "ann")
    assert handled.paused_at is not None
    assert actions(passed(under_way(check("M", version=3)))) == []
    assert actions(passed(under_way(check("M", version=3)), answered(done))) == []


def test_unpause_never_ends_the_pause_of_another_client() -> None:
    memory = ordered(remembering(under_way(check("P"))), OrderName.UNPAUSE)

    assert actions(passed(under_way(check("P")), memory)) == []


@pytest.mark.parametrize("order", [OrderName.PAUSE, OrderName.FORGET])
@pytest.mark.parametrize("annotations", ["", "M"])
def test_check_that_another_client_unpaused_is_paused_again_by_order_and_once(
    order: OrderName, annotations: str
) -> None:
    memory = remembering(under_way(check(annotations, version=3)), PAUSED)
    done = passed(under_way(check(annotations, version=3)), ordered(memory, order))
    assert actions(done) == [PauseAction.PAUSE]
    memory = remembering(under_way(check("PM", version=4)), answered(done))

    assert actions(passed(under_way(check(annotations, version=5)), memory)) == []


def test_reason_of_a_pause_by_hand_is_kept_and_that_of_one_by_the_upgrade_is_none() -> None:
    memory = remembering(under_way(check(), check(name="b")), ordered(NOTHING, OrderName.PAUSE))

    assert [(row.reason, row.identity) for row in memory.handled] == [("so I say", "ann"), ("", "")]


@pytest.mark.parametrize(
    ("annotations", "how"), [("M", CheckPauseState.UNPAUSED_BY_OTHERS), ("P", CheckPauseState.FOUND_PAUSED)]
)
def test_change_of_another_client_is_not_attributed_to_the_person_of_the_pause(
    annotations: str, how: CheckPauseState
) -> None:
    memory = remembering(under_way(check()), ordered(NOTHING, OrderName.PAUSE))
    (handled,) = remembering(under_way(check(annotations, version=3)), memory).handled

    assert (handled.how, handled.reason, handled.identity) == (how, "", "")


def test_unpause_of_every_check_is_for_those_to_come_too() -> None:
    memory = ordered(PAUSED, OrderName.UNPAUSE, "")
    look = under_way(check("PM", version=2), check(name="new"))

    assert [(patch.uid, patch.action) for patch in passed(look, memory).patches] == [
        ("uid-a", PauseAction.UNPAUSE_MARKED)
    ]
    assert "uid-new" in remembering(look, memory).by_uid


def test_latest_order_counts() -> None:
    memory = ordered(ordered(PAUSED, OrderName.UNPAUSE), OrderName.PAUSE, "")

    assert actions(passed(under_way(check("PM", version=2)), memory)) == []


def test_pause_ends_with_the_upgrade() -> None:
    memory = ordered(PAUSED, OrderName.PAUSE)

    assert actions(passed(over(check("PM", version=2)), memory)) == [PauseAction.UNPAUSE]


def test_pause_for_a_time_outlasts_the_upgrade_and_ends_then() -> None:
    memory = ordered(PAUSED, OrderName.PAUSE, until=LATER)
    kept = passed(over(check("PM", version=2)), memory)
    assert (actions(kept), kept.until, kept.is_over) == ([], LATER, False)

    assert actions(passed(over(check("PM", version=2)), kept.memory, LATER)) == [PauseAction.UNPAUSE]


def test_pause_for_a_time_needs_no_upgrade_and_is_obeyed_once() -> None:
    memory = ordered(NOTHING, OrderName.PAUSE, until=LATER)
    done = passed(over(check()), memory)
    assert actions(done) == [PauseAction.PAUSE]
    after = passed(over(check("M", version=3)), answered(done))
    assert actions(after) == []

    assert actions(passed(over(check("M", version=3)), after.memory, LATER)) == [PauseAction.REMOVE_MARK]


@pytest.mark.rule("rule 36/annotations")
def test_order_waits_until_the_state_is_known() -> None:
    memory = ordered(PAUSED, OrderName.UNPAUSE)
    done = passed(unknown(check("PM", version=2)), memory)

    assert done.patches == ()
    assert actions(passed(under_way(check("PM", version=2)), done.memory)) == [PauseAction.UNPAUSE_MARKED]


def test_order_has_what_failed_tried_at_once() -> None:
    memory = answered(passed(under_way(check())), WriteOutcome.FAILED)
    assert actions(passed(under_way(check()), memory)) == []

    assert actions(passed(under_way(check()), ordered(memory, OrderName.PAUSE))) == [PauseAction.PAUSE]


def test_order_whose_write_failed_is_still_to_be_obeyed() -> None:
    look = under_way(check("PM", version=2))
    memory = answered(passed(look, ordered(PAUSED, OrderName.UNPAUSE)), WriteOutcome.FAILED)

    assert actions(passed(look, memory, LATER)) == [PauseAction.UNPAUSE_MARKED]


def test_orders_are_numbered_on_and_the_oldest_are_forgotten() -> None:
    memory = NOTHING
    for _ in range(MOST_ORDERS + 1):
        memory = ordered(memory, OrderName.FORGET)

    assert [memory.orders[0].number, memory.orders[-1].number] == [2, MOST_ORDERS + 1]


@pytest.mark.parametrize(
    ("name", "expected"), [("machines/a", True), ("MachineHealthCheck/machines/a", True), ("a", False)]
)
def test_check_is_named_with_its_namespace(name: str, *, expected: bool) -> None:
    assert is_named(check().reference, name) is expected
