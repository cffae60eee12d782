"""A patch whose answer was lost may be applied later: nothing is concluded until another write settles it."""

from datetime import timedelta

import pytest

from health.upgrade.failed_write import WriteOutcome
from health.upgrade.memory import CheckPauseState, PauseMemory
from health.upgrade.orders import OrderName
from health.upgrade.pausable_check import PauseAction
from tests.support.values.looks import (
    NOW,
    actions,
    answered,
    check,
    ordered,
    over,
    passed,
    remembering,
    under_way,
)

LATER = NOW + timedelta(minutes=10)
NEXT = NOW + timedelta(days=1)
LOST, SETTLE = WriteOutcome.FAILED, PauseAction.SETTLE


def unpause_lost() -> PauseMemory:
    """The upgrade is over, and the answer to the patch that unpauses the check was lost."""
    memory = remembering(under_way(check()))
    return answered(passed(over(check("PM", version=2)), memory), LOST)


@pytest.mark.rule("rule 34", "rule 35", "rule 47")
def test_unpause_that_was_lost_before_the_next_upgrade_is_settled_before_the_check_counts_as_paused() -> None:
    look = under_way(check("PM", version=2), since=NEXT)
    done = passed(look, unpause_lost(), NEXT)

    assert actions(done) == [SETTLE]
    assert (done.memory.settled, done.memory.handled) == ((), ())
    seen = passed(under_way(check("PM", version=3), since=NEXT), answered(done, now=NEXT), NEXT)
    assert actions(seen) == []
    assert seen.memory.settled == ("uid-a",)
    assert seen.memory.failed == ()


@pytest.mark.rule("rule 34", "rule 47")
def test_unpause_that_was_lost_and_applied_in_the_next_upgrade_is_no_unpause_by_an_administrator() -> None:
    look = under_way(check("PM", version=2), since=NEXT)
    memory = answered(passed(look, unpause_lost(), NEXT), WriteOutcome.CONFLICT, now=NEXT)
    done = passed(under_way(check(version=3), since=NEXT), memory, NEXT)

    assert actions(done) == [PauseAction.PAUSE]
    assert done.memory.settled == ()


@pytest.mark.parametrize(
    ("annotations", "lost", "then"),
    [
        pytest.param("", OrderName.PAUSE, OrderName.UNPAUSE, id="pause"),
        pytest.param("PM", OrderName.UNPAUSE, OrderName.PAUSE, id="unpause"),
    ],
)
def test_ordered_patch_that_was_lost_is_settled_where_the_next_order_says_the_contrary(
    annotations: str, lost: OrderName, then: OrderName
) -> None:
    memory = remembering(under_way(check()))
    memory = remembering(under_way(check(annotations, version=2)), memory)
    look = under_way(check(annotations, version=2))
    memory = answered(passed(look, ordered(memory, lost)), LOST)
    done = passed(look, ordered(memory, then), LATER)

    assert actions(done) == [SETTLE]
    assert done.memory.settled == ()
    assert done.patches[0].resource_version == "2"


@pytest.mark.parametrize("annotations", ["PM", ""])
def test_settled_check_is_known_as_it_was_found(annotations: str) -> None:
    memory = remembering(under_way(check(annotations)))
    lost = OrderName.UNPAUSE if annotations else OrderName.PAUSE
    then = OrderName.PAUSE if annotations else OrderName.UNPAUSE
    look = under_way(check(annotations or "M", version=2))
    memory = answered(passed(look, ordered(remembering(look, memory), lost)), LOST)
    memory = answered(passed(look, ordered(memory, then), LATER), now=LATER)
    done = passed(look.model_copy(update={"checks": (check(annotations or "M", version=3),)}), memory, LATER)

    assert actions(done) == []
    assert done.memory.failed == ()
    assert done.memory.settled == ("uid-a",)
    assert done.memory.by_uid["uid-a"].how is (
        CheckPauseState.PAUSED if annotations else CheckPauseState.UNPAUSED_BY_OTHERS
    )


def test_pause_does_not_end_while_a_lost_patch_may_be_applied() -> None:
    memory = answered(passed(under_way(check())), LOST)
    done = passed(over(check()), memory, LATER)
    assert (actions(done), done.is_over) == ([SETTLE], False)
    done = passed(over(check("M", version=2)), answered(done, now=LATER), LATER)
    assert actions(done) == [PauseAction.REMOVE_MARK]

    assert passed(over(check(version=3)), answered(done, now=LATER), LATER).is_over


def test_patch_that_certainly_was_not_written_needs_no_other_one() -> None:
    memory = answered(passed(under_way(check())), WriteOutcome.REFUSED)

    assert passed(over(check()), memory, LATER).is_over


@pytest.mark.rule("rule 47")
def test_refusal_does_not_settle_the_patch_before_it() -> None:
    memory = unpause_lost()
    again = passed(over(check("PM", version=2)), memory, LATER)
    memory = answered(again, WriteOutcome.REFUSED, now=LATER)

    assert actions(passed(under_way(check("PM", version=2), since=NEXT), memory, NEXT)) == [SETTLE]


@pytest.mark.rule("rule 34", "rule 35")
@pytest.mark.parametrize("annotations", ["PM", ""])
def test_unpause_that_is_not_seen_yet_when_the_next_upgrade_begins_is_known_in_that_one(
    annotations: str,
) -> None:
    memory = remembering(over(check("PM", version=2)), remembering(under_way(check())))
    version = 2 if annotations else 3
    done = passed(under_way(check(annotations, version=version), since=NEXT), memory, NEXT)

    assert actions(done) == [PauseAction.PAUSE]
    assert done.memory.settled == ()


@pytest.mark.rule("rule 34")
def test_mark_that_is_left_by_an_order_and_not_seen_yet_is_an_old_one_in_the_next_upgrade() -> None:
    memory = remembering(under_way(check("PM", version=2)), remembering(under_way(check())))
    memory = remembering(under_way(check("PM", version=2)), ordered(memory, OrderName.UNPAUSE))
    done = passed(under_way(check("PM", version=2), since=NEXT), memory, NEXT)

    assert actions(done) == [PauseAction.PAUSE]
