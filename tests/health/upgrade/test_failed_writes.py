"""A failed write is not remembered as written, and is tried again."""

from datetime import timedelta

import pytest

from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.next_pass import MOST_PATCHES, SEEN_WITHIN, having_written
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

A_MOMENT = timedelta(seconds=0.5)
A_MINUTE = timedelta(minutes=1)


@pytest.mark.rule("rule 47")
@pytest.mark.parametrize("outcome", [WriteOutcome.FAILED, WriteOutcome.CONFLICT, WriteOutcome.GONE])
def test_failed_write_is_no_handled_check_and_is_tried_again_with_back_off(outcome: WriteOutcome) -> None:
    look = under_way(check())
    memory = answered(passed(look), outcome, why="no")
    soon = passed(look, memory, NOW + A_MOMENT)

    assert memory.handled == ()
    assert memory.settled == ()
    assert soon.patches == ()
    assert soon.until == NOW + timedelta(seconds=1)
    assert "cannot Pause MachineHealthCheck/machines/a: no" in soon.details
    assert soon.until is not None
    assert actions(passed(look, soon.memory, soon.until)) == [PauseAction.PAUSE]


def test_check_that_had_changed_is_decided_anew_as_soon_as_that_is_seen() -> None:
    memory = answered(passed(under_way(check())), WriteOutcome.CONFLICT)

    assert actions(passed(under_way(check(version=2)), memory)) == [PauseAction.PAUSE]
    assert actions(passed(under_way(check("P", version=2)), memory)) == []


def test_change_of_a_check_ends_no_other_back_off() -> None:
    memory = answered(passed(under_way(check())), WriteOutcome.FAILED)

    assert actions(passed(under_way(check(version=2)), memory)) == []


def test_missing_answer_is_a_failure() -> None:
    done = passed(under_way(check()))

    assert [write.why for write in having_written(done, (), NOW, 0).failed] == ["no answer"]


@pytest.mark.rule("rule 47")
def test_right_is_reported_as_missing_after_half_a_minute() -> None:
    look = under_way(check())
    memory = answered(passed(look), WriteOutcome.FAILED, is_refused=True)
    assert not memory.failed[0].is_refused_for_long
    done = passed(look, memory, NOW + A_MINUTE)
    memory = answered(done, WriteOutcome.FAILED, is_refused=True, now=NOW + A_MINUTE)

    assert memory.failed[0].is_refused_for_long
    assert "a right is missing" in passed(look, memory, NOW + A_MINUTE).details


def test_server_that_asks_for_time_gets_it() -> None:
    memory = answered(passed(under_way(check())), WriteOutcome.FAILED, wait_seconds=30)

    assert passed(under_way(check()), memory, NOW).until == NOW + timedelta(seconds=31)


@pytest.mark.rule("MHC C.2/gone")
def test_check_that_vanished_leaves_nothing_behind() -> None:
    memory = answered(passed(over(check("PM"))), WriteOutcome.GONE)
    done = passed(over(), memory)

    assert done.is_over
    assert done.memory.failed == ()


def test_one_that_fails_keeps_no_other() -> None:
    done = passed(under_way(check(), check(name="b")))
    memory = having_written(done, answers=(), now=NOW, spread=0)
    memory = memory.model_copy(update={"handled": (done.once_written[1],), "failed": memory.failed[:1]})
    again = passed(under_way(check(), check(name="b")), memory)

    assert again.patches == ()
    assert [row.uid for row in again.memory.handled] == ["uid-b"]


def test_order_that_comes_while_another_check_is_written_is_obeyed_at_once() -> None:
    look = under_way(check(), check(name="b"))
    answers = [
        PauseAnswer(uid=uid, outcome=WriteOutcome.FAILED, wait_seconds=wait)
        for uid, wait in (("uid-a", 0), ("uid-b", 600))
    ]
    due = passed(look, having_written(passed(look), answers, NOW, 0), NOW + A_MINUTE)
    assert [patch.uid for patch in due.patches] == ["uid-a"]
    meanwhile = ordered(due.memory, OrderName.PAUSE, "machines/b")
    memory = meanwhile.taking_over(answered(due, WriteOutcome.FAILED, now=NOW + A_MINUTE), due.patches)

    assert [patch.uid for patch in passed(look, memory, NOW + A_MINUTE).patches] == ["uid-b"]
    assert memory.orders == meanwhile.orders
    assert {write.uid for write in memory.failed} == {"uid-a", "uid-b"}


@pytest.mark.parametrize("name", ["machines/a", ""])
def test_order_that_comes_while_its_own_check_is_written_is_obeyed_at_once(name: str) -> None:
    look = under_way(check())
    done = passed(look)
    meanwhile = ordered(done.memory, OrderName.UNPAUSE, name)
    meanwhile = ordered(meanwhile, OrderName.PAUSE, name)
    memory = meanwhile.taking_over(answered(done, WriteOutcome.FAILED, wait_seconds=300), done.patches)

    assert actions(passed(look, memory, NOW)) == [PauseAction.PAUSE]
    assert memory.orders == meanwhile.orders
    assert [write.why for write in memory.failed] == ["Failed"]


def test_written_pause_is_known_before_it_is_seen() -> None:
    memory = remembering(under_way(check()))
    old_look = passed(under_way(check()), memory)
    assert (old_look.patches, old_look.memory.settled) == ((), ())

    assert passed(under_way(check("PM", version=2)), memory).memory.settled == ("uid-a",)


@pytest.mark.rule("rule 34", "rule 35")
def test_end_waits_until_what_was_written_is_seen() -> None:
    look = over(check("PM"))
    done = passed(look, remembering(look, remembering(under_way(check("PM")))))
    assert (done.is_over, done.until) == (False, NOW + SEEN_WITHIN)

    assert passed(over(check(version=2)), done.memory).is_over
    assert passed(over(), done.memory).is_over


@pytest.mark.rule("MHC C.2/begin")
def test_large_fleet_is_paused_in_several_passes() -> None:
    look = under_way(*(check(name=str(number)) for number in range(MOST_PATCHES + 1)))
    first = passed(look)
    second = passed(look, answered(first))

    assert [len(first.patches), len(second.patches)] == [MOST_PATCHES, 1]
