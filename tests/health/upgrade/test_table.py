"""The table: what is done by the two annotations alone, and by what was handled in this upgrade."""

import pytest

from health.cluster.upgrade import UpgradePhase
from health.upgrade.memory import CheckPauseState
from health.upgrade.orders import OrderName
from health.upgrade.pausable_check import PauseAction, PauseAnnotations
from tests.support.values.looks import (
    NOTHING,
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

PAUSE, UNPAUSE, REMOVE_MARK = (
    [PauseAction.PAUSE.value],
    [PauseAction.UNPAUSE.value],
    [PauseAction.REMOVE_MARK.value],
)


@pytest.mark.rule(
    "MHC C.2/begin",
    "MHC C.2/begun before us",
    "MHC C.2/found paused",
    "MHC C.2/restart",
    "MHC C.2/unpaused",
)
@pytest.mark.parametrize(
    ("annotations", "expected", "how"),
    [
        pytest.param("", PAUSE, CheckPauseState.PAUSED, id="neither annotation: both are written"),
        pytest.param("P", [], CheckPauseState.FOUND_PAUSED, id="paused by somebody else: nothing"),
        pytest.param("PM", [], CheckPauseState.PAUSED, id="ours already: nothing"),
        pytest.param("M", [], CheckPauseState.UNPAUSED_BY_OTHERS, id="unpaused by somebody: nothing"),
    ],
)
def test_check_that_is_seen_first_during_an_upgrade(
    annotations: str, expected: list[str], how: CheckPauseState
) -> None:
    look = under_way(check(annotations))

    assert actions(passed(look)) == expected
    assert remembering(look).by_uid["uid-a"].how is how


@pytest.mark.rule("MHC C.2/end", "MHC C.2/left mark", "MHC C.2/end over which nothing ran")
@pytest.mark.parametrize("phase", [UpgradePhase.OVER, UpgradePhase.NEVER])
@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param("PM", UNPAUSE, id="ours: both are removed"),
        pytest.param("M", REMOVE_MARK, id="a mark that was left: it is removed"),
        pytest.param("P", [], id="paused by somebody else: nothing"),
        pytest.param("", [], id="neither: nothing"),
    ],
)
def test_check_after_an_upgrade_that_nothing_is_remembered_of(
    annotations: str, expected: list[str], phase: UpgradePhase
) -> None:
    done = passed(over(check(annotations), phase=phase))

    assert actions(done) == expected
    assert done.is_over is not bool(expected)


@pytest.mark.rule("MHC C.2/unknown", "rule 36/annotations")
@pytest.mark.parametrize("annotations", ["", "P", "PM", "M"])
@pytest.mark.parametrize(
    "look",
    [
        pytest.param(unknown, id="phase unknown"),
        pytest.param(lambda one: under_way(one, unread="403"), id="checks not read, under way"),
        pytest.param(lambda one: over(one).model_copy(update={"unread": "403"}), id="checks not read, over"),
        pytest.param(
            lambda one: over(one).model_copy(update={"phase": "Paused"}), id="phase of another version"
        ),
    ],
)
def test_unknown_facts_change_no_annotation_and_no_memory(annotations: str, look: object) -> None:
    assert callable(look)
    done = passed(look(check(annotations)))

    assert done.patches == ()
    assert done.memory == NOTHING
    assert not done.is_over
    assert done.until is None
    assert "changes nothing" in done.why


@pytest.mark.rule("MHC C.2/unpaused", "rule 34")
@pytest.mark.parametrize("left", ["", "M"], ids=["both annotations removed", "the mark left"])
@pytest.mark.parametrize("before", ["", "P"], ids=["paused by us", "found paused"])
def test_check_unpaused_in_mid_upgrade_is_never_paused_again_in_it(before: str, left: str) -> None:
    memory = remembering(under_way(check(before)))
    look = under_way(check(left, version=3))

    assert actions(passed(look, memory)) == []
    handled = remembering(look, memory).by_uid["uid-a"]
    assert handled.how is CheckPauseState.UNPAUSED_BY_OTHERS
    assert handled.unpaused_at is not None
    assert actions(passed(look, remembering(look, memory))) == []


@pytest.mark.rule("MHC C.2/paused by several")
def test_mark_is_ours_also_if_another_writer_paused_the_check_again() -> None:
    memory = remembering(under_way(check()))
    memory = remembering(under_way(check("M", version=3)), memory)
    memory = remembering(under_way(check("PM", version=4)), memory)

    assert memory.by_uid["uid-a"].how is CheckPauseState.PAUSED
    assert memory.by_uid["uid-a"].paused_at is None
    assert actions(passed(over(check("PM", version=4)), memory)) == UNPAUSE


def test_pause_whose_mark_was_removed_belongs_to_another_writer() -> None:
    memory = remembering(under_way(check()))
    memory = remembering(under_way(check("P", version=3)), memory)

    assert memory.by_uid["uid-a"].how is CheckPauseState.FOUND_PAUSED
    assert passed(over(check("P", version=3)), memory).is_over


@pytest.mark.rule("MHC C.2/created")
def test_check_created_during_the_upgrade_is_paused() -> None:
    memory = remembering(under_way(check()))
    done = passed(under_way(check("PM", version=2), check(name="b")), memory)

    assert [(patch.reference.name, patch.action) for patch in done.patches] == [("b", PauseAction.PAUSE)]


@pytest.mark.rule("MHC C.2/termination handler")
def test_check_of_the_termination_handler_is_paused_as_any_other() -> None:
    assert actions(passed(under_way(check(name="machine-api-termination-handler")))) == PAUSE


@pytest.mark.rule("MHC C.2/created")
def test_check_deleted_and_made_anew_is_another_one() -> None:
    memory = remembering(under_way(check("M")))
    anew = check(version=9).model_copy(update={"uid": "another"})

    assert actions(passed(under_way(anew), memory)) == PAUSE
    by_uid = remembering(under_way(anew), memory).by_uid
    assert {uid: one.is_deleted for uid, one in by_uid.items()} == {"uid-a": True, "another": False}


def test_check_that_is_gone_is_not_counted_as_paused_any_more() -> None:
    memory = remembering(under_way(check(), check(name="b")))

    why = passed(under_way(check("PM", version=2)), memory).why
    assert why.endswith("1 of 1 checks are paused by it, 0 were unpaused")


@pytest.mark.parametrize(
    ("back", "order"),
    [
        pytest.param("PM", None, id="as it was"),
        pytest.param("P", None, id="paused by somebody else"),
        pytest.param("M", None, id="unpaused by somebody else"),
        pytest.param("", OrderName.PAUSE, id="and is paused by an order"),
    ],
)
def test_check_that_one_answer_lacked_is_not_deleted_once_it_is_back(
    back: str, order: OrderName | None
) -> None:
    memory = remembering(under_way(check(), check(name="b")))
    memory = remembering(under_way(check("PM", name="b", version=2)), memory)
    assert memory.by_uid["uid-a"].is_deleted
    memory = memory if order is None else ordered(memory, order)
    memory = remembering(under_way(check(back, version=3), check("PM", name="b", version=2)), memory)

    assert not any(row.is_deleted for row in memory.handled)


def test_check_that_is_back_after_the_upgrade_is_unpaused() -> None:
    memory = remembering(under_way(check()))
    memory = remembering(under_way(), memory)
    done = passed(over(check("PM", version=2)), memory)

    assert actions(done) == UNPAUSE
    assert not answered(done).by_uid["uid-a"].is_deleted


@pytest.mark.rule("MHC C.2/deleting")
def test_check_that_is_being_deleted_is_left_alone() -> None:
    assert actions(passed(under_way(check(is_going=True)))) == []
    assert passed(over(check("PM", is_going=True))).is_over


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/end")
def test_both_annotations_are_one_patch() -> None:
    annotations = PauseAnnotations(paused="p", mark="m")

    def patch(action: PauseAction) -> dict[str, str | None]:
        return annotations.patch(action, "7")

    assert patch(PauseAction.PAUSE) == {"p": "", "m": ""}
    assert patch(PauseAction.UNPAUSE) == {"p": None, "m": None}
    assert patch(PauseAction.UNPAUSE_MARKED) == {"p": None}
    assert patch(PauseAction.REMOVE_MARK) == {"m": None}
    assert patch(PauseAction.SETTLE) == {"m": "7"}
