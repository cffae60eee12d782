"""The decisions of an upgrade pause, row by row, and the orders of users to it."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from health.cluster.upgrade import UpgradePhase
from health.upgrade.decision import (
    CheckPauseState,
    OrderName,
    PauseDecision,
    PauseMoment,
    PauseRefusal,
    decide,
    with_full_names,
)
from health.upgrade.memory import MOST_ORDERS, UpgradeObservation, needless
from health.upgrade.pausable_check import PauseAction, PauseAnnotations
from tests.support.values.looks import (
    BEGAN,
    CREATED,
    NEXT,
    NOTHING,
    NOW,
    OFF,
    UNKNOWN,
    Pause,
    check,
    over,
    under_way,
)

PAUSE, UNPAUSE = OrderName.PAUSE, OrderName.UNPAUSE
HOUR = timedelta(hours=1)


def paused(*names: str) -> Pause:
    pause = Pause.of(*(check(name=name) for name in names or ("a",)))
    pause.sync(under_way())
    return pause


def test_unpause_leaves_the_mark_so_that_a_workflow_made_anew_knows_of_it() -> None:
    pause = paused()
    pause.order(UNPAUSE)
    pause.sync(under_way())
    assert (pause.annotations, pause.states) == ({"a": "M"}, {"a": CheckPauseState.UNPAUSED})
    pause.memory = NOTHING
    pause.sync(under_way())

    assert pause.annotations == {"a": "M"}


@pytest.mark.parametrize("annotations", ["", "M"])
def test_check_that_another_client_unpaused_is_paused_again_by_order_and_once(annotations: str) -> None:
    pause = paused()
    for expected in ("PM", annotations):
        pause.cluster.edit("a", annotations)
        if expected == "PM":
            pause.order(PAUSE)
        pause.sync(under_way())

        assert pause.annotations == {"a": expected}


def test_latest_order_counts_and_an_unpause_of_every_check_is_for_those_to_come_too() -> None:
    pause = paused()
    pause.order(PAUSE)
    pause.order(UNPAUSE, None)
    pause.cluster.add(check(name="new", created=pause.now))
    pause.sync(under_way())
    assert pause.annotations == {"a": "M", "new": ""}
    pause.order(PAUSE, None)
    pause.cluster.add(check(name="newer", created=pause.now + HOUR))
    pause.sync(under_way())

    assert pause.annotations == {"a": "PM", "new": "PM", "newer": "PM"}


def test_pause_of_every_check_is_carried_out_once_also_for_a_check_that_comes_later() -> None:
    pause = paused()
    pause.order(PAUSE, None)
    pause.sync(under_way())
    pause.cluster.add(check(name="new", created=pause.now))
    pause.sync(under_way())
    assert pause.annotations == {"a": "PM", "new": "PM"}
    pause.cluster.edit("new", "")
    pause.sync(under_way())

    assert pause.annotations == {"a": "PM", "new": ""}


def test_order_is_shown_with_the_check_that_follows_it_and_not_with_a_change_of_another_client() -> None:
    pause = paused("a", "b")
    pause.order(PAUSE)
    pause.sync(under_way())
    rows = {row.check[-1]: row.order for row in pause.memory.synced.rows} if pause.memory.synced else {}
    assert rows == {"a": 1, "b": 0}
    pause.cluster.edit("a", "M")
    synced = pause.sync(under_way())

    assert synced is not None
    assert [(row.state, row.order) for row in synced.rows if row.check[-1] == "a"] == [
        (CheckPauseState.UNPAUSED_BY_OTHERS, 0)
    ]


def test_pause_ends_with_the_upgrade() -> None:
    pause = paused()
    pause.order(PAUSE)
    pause.sync(under_way())
    pause.sync(over())

    assert pause.annotations == {"a": ""}


def test_pause_for_a_time_outlasts_the_upgrade_and_ends_then() -> None:
    pause = paused("a", "b")
    pause.order(PAUSE, until=pause.now + HOUR)
    pause.sync(over())
    assert pause.annotations == {"a": "PM", "b": ""}
    assert not pause.memory.is_over(over(), pause.now)
    pause.now += HOUR
    pause.sync(over())

    assert pause.annotations == {"a": "", "b": ""}
    assert pause.memory.is_over(over(), pause.now)


def test_pause_for_a_time_needs_no_upgrade_and_is_carried_out_once() -> None:
    pause = Pause.of(check())
    pause.order(PAUSE, until=pause.now + HOUR)
    pause.sync(over())
    assert pause.annotations == {"a": "PM"}
    pause.cluster.edit("a", "M")
    pause.sync(over())
    assert pause.annotations == {"a": "M"}
    pause.now += HOUR
    pause.sync(over())

    assert pause.annotations == {"a": ""}


def test_upgrade_that_begins_while_a_pause_is_kept_pauses_the_other_checks_too() -> None:
    pause = Pause.of(check(), check(name="b"))
    pause.order(PAUSE, until=pause.now + HOUR)
    pause.sync(over())
    pause.sync(under_way(pause.now))
    assert pause.annotations == {"a": "PM", "b": "PM"}
    pause.now += HOUR
    pause.sync(over())

    assert pause.annotations == {"a": "", "b": ""}


def test_order_whose_write_failed_is_still_to_be_carried_out() -> None:
    pause = paused()
    pause.order(UNPAUSE)
    pause.sync(under_way(), refused=["a"])
    assert pause.states == {"a": CheckPauseState.PAUSED}
    pause.sync(under_way())

    assert pause.annotations == {"a": "M"}


def test_order_that_comes_during_a_sync_is_for_the_next_one() -> None:
    pause = paused()
    observed = under_way()
    moment = pause.memory.moment(observed, pause.now)
    synced = pause.cluster.sync(moment, pause.now)
    pause.order(UNPAUSE)
    pause.memory = pause.memory.having_synced(synced, moment, pause.now)
    assert [order.done_until for order in pause.memory.orders] == [None]
    pause.sync(observed)

    assert pause.annotations == {"a": "M"}


def test_sync_without_an_answer_carries_an_order_out_and_the_next_one_writes_nothing_more() -> None:
    pause = paused()
    pause.order(UNPAUSE)
    pause.sync(under_way(), is_lost=True)
    assert pause.annotations == {"a": "M"}
    pause.sync(under_way())

    assert pause.cluster.done("a") == [PauseAction.PAUSE, PauseAction.UNPAUSE_MARKED]
    assert all(order.done_until for order in pause.memory.orders)


def test_orders_are_numbered_on_and_the_oldest_are_dropped() -> None:
    pause = Pause()
    for _ in range(MOST_ORDERS + 1):
        pause.order(UNPAUSE)

    assert [pause.memory.orders[0].number, pause.memory.orders[-1].number] == [2, MOST_ORDERS + 1]


@pytest.mark.parametrize(
    "name",
    ["a", "machines/a", "MachineHealthCheck/a", "MachineHealthCheck/machines/a"],
)
def test_check_is_named_as_in_every_command(name: str) -> None:
    pause = Pause.of(check(), check(name="b"))
    pause.order(UNPAUSE, name)
    (order,), refused = with_full_names(pause.memory.orders, tuple(pause.cluster.checks.values()))

    assert (order.check, refused) == ("MachineHealthCheck/machines/a", ())


@pytest.mark.parametrize(
    ("order", "name", "refused", "why"),
    [
        (
            PAUSE,
            "none",
            PauseRefusal.UNKNOWN_CHECK,
            r"no check 'none' .*: \S*/a, \S*/check-01, .* and 3 more$",
        ),
        (PAUSE, None, None, ""),
        (PAUSE, "", PauseRefusal.UNKNOWN_CHECK, r"there is no check '' among"),
        (UNPAUSE, "theirs", PauseRefusal.NOT_OURS, r"/theirs was paused by another user or tool"),
        (PAUSE, "theirs", None, ""),
    ],
)
def test_order_that_could_never_be_carried_out_is_refused_and_dropped(
    order: OrderName, name: str | None, refused: PauseRefusal | None, why: str
) -> None:
    many = (check(name=f"check-{number:02}") for number in range(1, 12))
    pause = Pause.of(check(), check("P", name="theirs"), *many)
    pause.order(order, name)
    synced = pause.sync(under_way())
    assert synced is not None
    assert [one.refused for one in synced.refused] == ([refused] if refused else [])
    assert len(pause.memory.orders) == (0 if refused else 1)
    assert all(re.search(why, one.why) for one in synced.refused)


@pytest.mark.parametrize(
    ("observed", "order", "is_timed", "refused"),
    [
        (over(), PAUSE, False, PauseRefusal.NO_UPGRADE),
        (over(), PAUSE, True, None),
        (over(), UNPAUSE, False, None),
        (under_way(), PAUSE, False, None),
        (OFF, PAUSE, True, PauseRefusal.OFF),
    ],
)
def test_order_that_makes_no_sense_now_is_refused(
    observed: UpgradeObservation, order: OrderName, refused: PauseRefusal | None, *, is_timed: bool
) -> None:
    pause = Pause.of(check(created=CREATED))
    pause.order(order, until=pause.now + HOUR if is_timed else None)

    assert [one.refused for one in needless(pause.memory.orders, observed)] == [refused] * bool(refused)


UPGRADE = PauseMoment(now=NOW, is_under_way=True, began=BEGAN)
AFTERWARDS = PauseMoment(now=NOW, is_under_way=False, began=NOW)
LATER = NOW + timedelta(hours=1)
PAUSED, FOUND_PAUSED = CheckPauseState.PAUSED, CheckPauseState.FOUND_PAUSED
UNPAUSED, UNPAUSED_BY_OTHERS = CheckPauseState.UNPAUSED, CheckPauseState.UNPAUSED_BY_OTHERS


@pytest.mark.rule(
    "MHC C.2/begin",
    "MHC C.2/begun before us",
    "MHC C.2/found paused",
    "MHC C.2/restart",
    "MHC C.2/unpaused",
)
@pytest.mark.parametrize(
    ("annotations", "decision"),
    [
        pytest.param("", PauseDecision(PAUSED, PauseAction.PAUSE), id="neither annotation"),
        pytest.param("P", PauseDecision(FOUND_PAUSED), id="paused by another writer"),
        pytest.param("PM", PauseDecision(PAUSED), id="ours already"),
        pytest.param("M", PauseDecision(UNPAUSED_BY_OTHERS), id="unpaused by another writer"),
    ],
)
def test_check_that_is_seen_first_during_an_upgrade(annotations: str, decision: PauseDecision) -> None:
    assert decide(check(annotations), UPGRADE) == decision


@pytest.mark.rule("MHC C.2/end and begin over which nothing ran", "rule 35")
@pytest.mark.parametrize("annotations", ["M", "PM"])
def test_mark_of_an_upgrade_whose_end_was_not_seen_is_renewed_with_the_pause(annotations: str) -> None:
    upgrade = PauseMoment(now=NOW, is_under_way=True, began=NEXT)

    assert decide(check(annotations), upgrade) == PauseDecision(PAUSED, PauseAction.PAUSE)


@pytest.mark.parametrize("mark", ["", "by hand", "2026-13-01T00:00:00Z"])
def test_mark_without_a_time_counts_as_one_of_this_upgrade(mark: str) -> None:
    assert decide(check("M", marked_for=mark), UPGRADE) == PauseDecision(UNPAUSED_BY_OTHERS)
    assert decide(check("PM", marked_for=mark), AFTERWARDS).action is PauseAction.UNPAUSE


@pytest.mark.rule("MHC C.2/end", "MHC C.2/left mark", "MHC C.2/end over which nothing ran")
@pytest.mark.parametrize(
    ("annotations", "decision"),
    [
        pytest.param("PM", PauseDecision(UNPAUSED, PauseAction.UNPAUSE), id="ours: both are removed"),
        pytest.param(
            "M", PauseDecision(UNPAUSED_BY_OTHERS, PauseAction.REMOVE_MARK), id="a mark that was left"
        ),
        pytest.param("P", PauseDecision(), id="paused by another writer: nothing"),
        pytest.param("", PauseDecision(), id="neither: nothing"),
    ],
)
def test_check_after_an_upgrade_that_nothing_is_remembered_of(
    annotations: str, decision: PauseDecision
) -> None:
    assert decide(check(annotations), AFTERWARDS) == decision


@pytest.mark.rule("MHC C.2/unpaused", "rule 34")
@pytest.mark.parametrize("left", ["", "M"], ids=["both annotations removed", "the mark left"])
@pytest.mark.parametrize("before", ["", "P"], ids=["paused by us", "found paused"])
def test_check_unpaused_in_mid_upgrade_is_never_paused_again_in_it(before: str, left: str) -> None:
    pause = Pause.of(check(before))
    pause.sync(under_way())
    pause.cluster.edit("a", left)
    for _ in range(2):
        pause.sync(under_way())

        assert pause.annotations == {"a": left}
        assert pause.states == {"a": UNPAUSED_BY_OTHERS}


@pytest.mark.rule("MHC C.2/paused by several")
def test_mark_is_ours_also_if_another_writer_paused_the_check_again() -> None:
    pause = Pause.of(check("M"))
    pause.sync(under_way())
    pause.cluster.edit("a", "PM")
    pause.sync(under_way())
    assert pause.states == {"a": PAUSED}
    pause.sync(over())

    assert pause.annotations == {"a": ""}


def test_pause_whose_mark_was_removed_belongs_to_another_writer() -> None:
    pause = Pause.of(check())
    pause.sync(under_way())
    pause.cluster.edit("a", "P")
    pause.sync(under_way())
    assert pause.states == {"a": FOUND_PAUSED}
    pause.sync(over())

    assert pause.annotations == {"a": "P"}
    assert pause.memory.is_over(over(), pause.now)


@pytest.mark.rule("MHC C.2/created")
def test_check_created_during_the_upgrade_is_paused_also_if_it_has_the_name_of_a_deleted_one() -> None:
    pause = Pause.of(check("M"))
    pause.sync(under_way())
    pause.cluster.add(check(uid="another", created=pause.now), check(name="b", created=pause.now))
    pause.sync(under_way())

    assert pause.annotations == {"a": "PM", "b": "PM"}


@pytest.mark.rule("rule 34", "rule 47")
def test_check_whose_write_failed_is_not_handled_and_the_others_are() -> None:
    pause = Pause.of(check(), check(name="b"))
    pause.sync(under_way(), refused=["a"])
    assert pause.states == {"a": CheckPauseState.AWAITED, "b": PAUSED}
    pause.cluster.edit("b", "")
    pause.sync(under_way())

    assert pause.annotations == {"a": "PM", "b": ""}
    assert pause.memory.pending == ()


def test_sync_without_a_new_check_changes_nothing_that_the_detector_knows() -> None:
    pause = Pause.of(check())
    pause.sync(under_way())
    before = pause.memory.handled_until
    pause.sync(under_way())

    assert pause.memory.handled_until == before


@pytest.mark.rule("MHC C.2/termination handler")
def test_check_of_the_termination_handler_is_paused_as_any_other() -> None:
    assert decide(check(name="machine-api-termination-handler"), UPGRADE).action is PauseAction.PAUSE


@pytest.mark.rule("MHC C.2/deleting")
@pytest.mark.parametrize("moment", [UPGRADE, AFTERWARDS])
def test_check_that_is_being_deleted_is_left_alone(moment: PauseMoment) -> None:
    assert decide(check("PM", is_going=True), moment) == PauseDecision()
    assert decide(check(is_going=True), moment) == PauseDecision()


@pytest.mark.rule("rule 43")
@pytest.mark.parametrize("by_policy", [True, False])
def test_check_in_shadow_is_not_paused_and_its_own_pause_is_ended(*, by_policy: bool) -> None:
    upgrade = replace(UPGRADE, is_in_shadow=by_policy)

    assert decide(check(is_in_shadow=not by_policy), upgrade) == PauseDecision()
    assert decide(check("PM", is_in_shadow=not by_policy), upgrade) == PauseDecision(PAUSED)
    afterwards = replace(AFTERWARDS, is_in_shadow=by_policy)
    assert decide(check("PM", is_in_shadow=True), afterwards).action is PauseAction.UNPAUSE


@pytest.mark.rule("MHC C.2/unknown", "rule 36/annotations")
@pytest.mark.parametrize("observed", [UNKNOWN, over().model_copy(update={"phase": "Paused"})])
def test_unknown_state_is_neither_under_way_nor_over(observed: UpgradeObservation) -> None:
    assert not observed.is_under_way
    assert not observed.is_over
    assert not Pause().memory.is_over(observed, NOW)


@pytest.mark.parametrize("phase", UpgradePhase)
def test_pause_that_is_turned_off_ends_what_is_ours_in_every_state_and_nothing_else(
    phase: UpgradePhase,
) -> None:
    tools = check("PM", name="tools", marked_for="")
    pause = Pause.of(check("PM"), check("M", name="b"), check("P", name="theirs"), check(name="new"), tools)
    off = OFF.model_copy(update={"phase": phase})
    pause.sync(off)

    assert pause.annotations == {"a": "", "b": "", "theirs": "P", "new": "", "tools": "PM"}
    assert pause.memory.is_over(off, pause.now)


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/end")
def test_both_annotations_are_one_patch_and_the_mark_names_the_upgrade() -> None:
    annotations = PauseAnnotations(paused="p", mark="m")

    assert annotations.patch(PauseAction.PAUSE, BEGAN) == {"p": "", "m": "2026-01-01T10:00:00Z"}
    assert annotations.patch(PauseAction.UNPAUSE) == {"p": None, "m": None}
    assert annotations.patch(PauseAction.UNPAUSE_MARKED) == {"p": None}
    assert annotations.patch(PauseAction.REMOVE_MARK) == {"m": None}
