"""A setting turns the pause off: what is ours is given back, and nothing else is touched."""

from datetime import timedelta

import pytest

from health.cluster.upgrade import UpgradePhase
from health.upgrade.failed_write import WriteOutcome
from health.upgrade.memory import CheckPauseState
from health.upgrade.observation import UpgradeObservation
from health.upgrade.orders import OrderName
from health.upgrade.pausable_check import PausableCheck, PauseAction
from tests.support.values.looks import NOW, actions, answered, check, ordered, passed, remembering, under_way

LATER = NOW + timedelta(minutes=10)


def off(*checks: PausableCheck, phase: UpgradePhase = UpgradePhase.UNDER_WAY) -> UpgradeObservation:
    return under_way(*checks).model_copy(update={"is_turned_off": True, "phase": phase})


@pytest.mark.parametrize("phase", UpgradePhase)
def test_our_pauses_end_in_every_state_of_the_upgrade_and_the_result_says_so(phase: UpgradePhase) -> None:
    memory = remembering(under_way(check(), check("P", name="theirs")))
    done = passed(off(check("PM", version=2), check("P", name="theirs"), phase=phase), memory)
    assert [(patch.reference.name, patch.action) for patch in done.patches] == [("a", PauseAction.UNPAUSE)]
    assert not done.is_over

    done = passed(off(check("", version=3), check("P", name="theirs"), phase=phase), answered(done))
    assert done.is_over
    assert done.until is None
    assert "a setting turns the upgrade pause off" in done.why
    assert {row.reference.name: row.how for row in done.memory.handled} == {
        "a": CheckPauseState.UNPAUSED,
        "theirs": CheckPauseState.FOUND_PAUSED,
    }


def test_mark_of_a_check_that_another_client_unpaused_is_removed_too() -> None:
    memory = remembering(under_way(check()))
    memory = remembering(under_way(check("M", version=3)), memory)

    assert actions(passed(off(check("M", version=3)), memory)) == [PauseAction.REMOVE_MARK]


@pytest.mark.parametrize("annotations", ["PM", "M", "P", ""])
def test_check_that_no_memory_names_is_left_alone(annotations: str) -> None:
    done = passed(off(check(annotations)))

    assert actions(done) == []
    assert done.is_over


@pytest.mark.rule("rule 47")
def test_pause_whose_answer_was_lost_is_given_back_too() -> None:
    memory = answered(passed(under_way(check())), WriteOutcome.FAILED)

    assert actions(passed(off(check("PM", version=2)), memory, LATER)) == [PauseAction.UNPAUSE]
    done = passed(off(check()), memory, LATER)
    assert (actions(done), done.is_over) == ([PauseAction.SETTLE], False)
    memory = answered(done, now=LATER)
    assert actions(passed(off(check("M", version=2)), memory, LATER)) == [PauseAction.REMOVE_MARK]


def test_pause_with_a_time_of_a_person_ends_too_and_is_still_reported() -> None:
    memory = remembering(under_way(check()))
    memory = ordered(memory, OrderName.PAUSE, until=NOW + timedelta(hours=9))
    memory = answered(passed(off(check("PM", version=2)), memory))
    done = passed(off(check("", version=3)), memory)

    assert done.is_over
    assert len(done.memory.orders) == 1


def test_checks_that_cannot_be_read_are_given_back_once_they_can() -> None:
    memory = remembering(under_way(check()))
    unread = off(check("PM", version=2)).model_copy(update={"unread": "403"})

    assert not passed(unread, memory).is_over
    assert actions(passed(unread, memory)) == []
