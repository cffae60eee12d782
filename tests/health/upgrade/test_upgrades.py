"""Which upgrade it is, and what of the last one is left."""

from datetime import timedelta

import pytest

from health.upgrade.failed_write import WriteOutcome
from health.upgrade.memory import CheckPauseState
from health.upgrade.orders import OrderName
from health.upgrade.pausable_check import PauseAction
from tests.support.values.looks import (
    BEGAN,
    LONG,
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

NEXT = BEGAN + timedelta(days=1)


@pytest.mark.rule("MHC C.2/end and begin over which nothing ran", "rule 35")
@pytest.mark.parametrize("annotations", ["", "M"], ids=["no annotation", "a mark left of the last upgrade"])
def test_next_upgrade_pauses_checks_that_were_unpaused_in_an_upgrade_with_an_unseen_end(
    annotations: str,
) -> None:
    memory = remembering(under_way(check()))
    memory = remembering(under_way(check(annotations, version=3)), memory)
    done = passed(under_way(check(annotations, version=3), since=NEXT), memory)

    assert actions(done) == [PauseAction.PAUSE]
    assert answered(done).upgrade != memory.upgrade


@pytest.mark.rule("rule 35", "rule 47")
def test_old_mark_is_known_as_old_until_the_check_is_paused() -> None:
    memory = remembering(under_way(check("M")))
    done = passed(under_way(check("M"), since=NEXT), memory)
    memory = answered(done, WriteOutcome.CONFLICT)

    assert actions(passed(under_way(check("M", version=2), since=NEXT), memory)) == [PauseAction.PAUSE]


@pytest.mark.rule("rule 35")
def test_check_still_paused_from_the_last_upgrade_is_ours_in_the_next() -> None:
    memory = remembering(under_way(check()))
    done = passed(under_way(check("PM", version=2), since=NEXT), memory)

    assert actions(done) == []
    assert done.memory.by_uid["uid-a"].how is CheckPauseState.PAUSED


@pytest.mark.rule("MHC C.2/quickly")
def test_upgrade_that_ends_and_begins_again_unpauses_and_pauses_again() -> None:
    memory = remembering(under_way(check()))
    memory = remembering(over(check("PM", version=2)), memory)
    again = under_way(check("", version=3), since=NOW + timedelta(seconds=5))

    assert actions(passed(again, memory)) == [PauseAction.PAUSE]


@pytest.mark.rule("MHC C.2/re-targeted")
def test_upgrade_that_is_given_another_target_is_the_same() -> None:
    memory = remembering(under_way(check()))
    look = under_way(check("PM", version=2)).model_copy(update={"sign": "Version/v: to 4.19"})

    assert actions(passed(look, memory)) == []
    assert passed(look, memory).memory.upgrade == memory.upgrade


@pytest.mark.rule("rule 34", "rule 38")
def test_signals_that_join_and_end_one_after_the_other_are_one_upgrade() -> None:
    """Nothing is paused twice while the cluster is handed from signal to signal."""
    memory = remembering(under_way(check()))
    second, third = (BEGAN + timedelta(hours=hour) for hour in (1, 2))
    for looks in [(BEGAN, second), (second,), (second, third), (third,)]:
        look = under_way(check("", version=3), since=looks[0], also_since=looks[1:])
        assert actions(passed(look, memory)) == []
        memory = passed(look, memory).memory
    assert memory.upgrade is not None
    assert memory.upgrade.began == BEGAN

    assert actions(passed(under_way(check("", version=3), since=NEXT), memory)) == [PauseAction.PAUSE]


@pytest.mark.rule("rule 38")
def test_upgrade_is_over_when_no_signal_is_under_way() -> None:
    memory = remembering(under_way(check(), also_since=(NOW,)))
    memory = remembering(under_way(check("PM", version=2), since=NOW), memory)

    assert actions(passed(over(check("PM", version=2)), memory)) == [PauseAction.UNPAUSE]


@pytest.mark.rule("rule 38")
def test_signal_that_began_earlier_and_is_seen_later_is_of_the_same_upgrade() -> None:
    memory = remembering(under_way(check(), since=BEGAN))
    look = under_way(check("", version=3), since=BEGAN - timedelta(hours=1))

    assert actions(passed(look, memory)) == []


def test_old_look_after_the_end_was_seen_begins_no_upgrade() -> None:
    memory = remembering(under_way(check()))
    memory = remembering(over(check("PM", version=2)), memory)

    assert actions(passed(under_way(check("", version=3)), memory)) == []


def test_upgrade_without_a_time_is_another_once_an_end_was_seen() -> None:
    memory = remembering(under_way(check(), since=None))
    assert actions(passed(under_way(check("", version=3), since=None), memory)) == []
    memory = remembering(over(check("PM", version=2)), memory)

    assert actions(passed(under_way(check("", version=3), since=None), memory)) == [PauseAction.PAUSE]


@pytest.mark.rule("rule 34", "rule 36/annotations")
def test_unknown_state_in_between_forgets_nothing() -> None:
    memory = remembering(under_way(check()))
    memory = passed(unknown(), memory).memory

    assert actions(passed(under_way(check(version=3)), memory)) == []


@pytest.mark.rule("MHC C.2/stuck")
def test_upgrade_that_takes_long_is_reported_once_and_changes_nothing() -> None:
    memory = remembering(under_way(check()))
    look = under_way(check("PM", version=2))
    before = passed(look, memory)
    assert before.until == BEGAN + LONG
    assert not before.warning
    late = passed(look, memory, BEGAN + LONG)
    assert late.warning
    assert late.patches == ()
    told = passed(look, late.memory.model_copy(update={"warned_at": BEGAN + LONG}), BEGAN + LONG * 9)

    assert not told.warning
    assert told.until is None
    assert "takes long" in told.why


def test_next_long_upgrade_is_reported_again() -> None:
    memory = remembering(under_way(check())).model_copy(update={"warned_at": NOW})

    assert passed(under_way(since=NEXT), memory, NEXT).until == NEXT + LONG


def test_orders_of_the_last_upgrade_end_with_it_but_a_pause_that_has_time() -> None:
    memory = ordered(remembering(under_way(check())), OrderName.UNPAUSE)
    memory = ordered(memory, OrderName.PAUSE, "machines/b", until=NEXT + timedelta(hours=1))
    memory = passed(under_way(check("PM", version=2), since=NEXT), memory, NEXT).memory

    assert [order.check for order in memory.orders] == ["machines/b"]
