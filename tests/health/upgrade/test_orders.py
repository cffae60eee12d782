"""Orders of people: carried out once for each check, and never against who came after."""

import re
from datetime import timedelta

import pytest

from health.upgrade.decision import CheckPauseState, OrderName, PauseRefusal, with_full_names
from health.upgrade.memory import MOST_ORDERS, UpgradeObservation, needless
from health.upgrade.pausable_check import PauseAction
from tests.support.values.looks import CREATED, NOTHING, OFF, Pause, check, over, under_way

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
