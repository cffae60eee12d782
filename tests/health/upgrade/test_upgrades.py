"""Which upgrade it is, and what of the last one is left."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from health.upgrade.decision import OrderName
from health.upgrade.memory import MOST_NAMES, SETTLED_AFTER
from health.upgrade.pausable_check import PauseAction
from tests.support.values.longest import BLOB_LIMIT, Longest, payload_bytes
from tests.support.values.looks import BEGAN, NEXT, NOTHING, NOW, UNKNOWN, Pause, check, over, under_way


def unpaused(left: str = "") -> Pause:
    """An upgrade in which a person unpaused the check."""
    pause = Pause.of(check())
    pause.sync(under_way())
    pause.cluster.edit("a", left)
    return pause


@pytest.mark.rule("MHC C.2/end and begin over which nothing ran", "rule 35")
@pytest.mark.parametrize("memory", ["kept", "lost"])
def test_next_upgrade_pauses_checks_that_were_unpaused_in_an_upgrade_with_an_unseen_end(memory: str) -> None:
    pause = unpaused("M")
    if memory == "lost":
        pause.memory = NOTHING
    pause.sync(under_way(NEXT))

    assert pause.annotations == {"a": "PM"}


@pytest.mark.rule("rule 35", "rule 47")
def test_old_mark_is_known_as_old_until_the_check_is_paused() -> None:
    pause = unpaused("M")
    pause.sync(under_way(NEXT), refused=["a"])
    pause.sync(under_way(NEXT))

    assert pause.annotations == {"a": "PM"}


@pytest.mark.rule("rule 34", "rule 35")
def test_check_still_paused_from_the_last_upgrade_is_ours_in_the_next_and_an_unpause_is_kept() -> None:
    pause = Pause.of(check())
    pause.sync(under_way())
    pause.sync(under_way(NEXT))
    assert pause.cluster.paused == [("uid-a", BEGAN)]
    pause.cluster.edit("a", "M")
    pause.memory = NOTHING
    pause.sync(under_way(NEXT))

    assert pause.annotations == {"a": "M"}


@pytest.mark.rule("MHC C.2/quickly")
def test_upgrade_that_ends_and_begins_again_unpauses_and_pauses_again() -> None:
    pause = Pause.of(check())
    for observed in (under_way(), over(), under_way(NOW + timedelta(seconds=5))):
        pause.sync(observed)

    assert pause.cluster.done("a") == [PauseAction.PAUSE, PauseAction.UNPAUSE, PauseAction.PAUSE]


@pytest.mark.rule("MHC C.2/re-targeted")
def test_upgrade_that_is_given_another_target_is_the_same() -> None:
    pause = unpaused()
    pause.sync(under_way().model_copy(update={"sign": "Version/v: to 4.19"}))

    assert pause.annotations == {"a": ""}


@pytest.mark.rule("rule 34", "rule 38")
def test_signals_that_join_and_end_one_after_the_other_are_one_upgrade() -> None:
    """Nothing is paused twice while the cluster is handed from signal to signal."""
    second, third = (BEGAN + timedelta(hours=hour) for hour in (1, 2))
    for left in ("", "M"):
        pause = unpaused(left)
        for since in [(BEGAN, second), (second,), (second, third), (third,)]:
            pause.sync(under_way(*since))
            assert pause.annotations == {"a": left}
        assert pause.memory.upgrade is not None
        assert pause.memory.upgrade.began == BEGAN
        pause.sync(under_way(NEXT))

        assert pause.annotations == {"a": "PM"}


@pytest.mark.rule("rule 38")
@pytest.mark.parametrize("since", [BEGAN - timedelta(hours=1), BEGAN])
def test_signal_that_began_earlier_and_is_seen_later_is_of_the_same_upgrade(since: datetime) -> None:
    pause = unpaused()
    pause.sync(under_way(since))

    assert pause.annotations == {"a": ""}


def test_upgrade_without_a_time_is_another_once_an_end_was_seen() -> None:
    pause = Pause.of(check())
    pause.sync(under_way(None))
    pause.cluster.edit("a", "")
    pause.sync(under_way(None))
    assert pause.annotations == {"a": ""}
    pause.sync(over())
    pause.sync(under_way(None))

    assert pause.annotations == {"a": "PM"}


@pytest.mark.rule("rule 34", "rule 36/annotations")
def test_unknown_state_in_between_forgets_nothing() -> None:
    pause = unpaused()
    pause.sync(UNKNOWN)
    pause.sync(under_way())

    assert pause.annotations == {"a": ""}


def test_orders_of_the_last_upgrade_end_with_it_but_a_pause_that_has_time() -> None:
    pause = Pause.of(check(), check(name="b"))
    pause.order(OrderName.UNPAUSE)
    pause.order(OrderName.PAUSE, "machines/b", until=NEXT + timedelta(hours=1))
    pause.sync(under_way(NEXT))

    assert [order.check for order in pause.memory.orders] == ["MachineHealthCheck/machines/b"]


@pytest.mark.rule("rule 47")
def test_pause_is_over_once_no_write_can_come_late() -> None:
    pause = Pause.of(check())
    pause.sync(over(), is_lost=True)
    pause.sync(over())
    assert not pause.memory.is_over(over(), pause.now - timedelta(seconds=1))
    assert pause.memory.is_over(over(), pause.now - timedelta(minutes=1) + SETTLED_AFTER)


@pytest.mark.rule("rule 47")
def test_pause_is_not_over_while_a_write_fails_nor_before_it_can_no_longer_come_late() -> None:
    pause = Pause.of(check("M"))
    pause.sync(over(), refused=["a"])
    assert not pause.memory.is_over(over(), pause.now + SETTLED_AFTER)
    failed = pause.now
    pause.now -= timedelta(seconds=30)
    pause.sync(over())

    assert pause.annotations == {"a": ""}
    assert not pause.memory.is_over(over(), pause.now)
    assert pause.memory.is_over(over(), failed + SETTLED_AFTER)


def test_check_keeps_the_time_since_when_it_is_in_its_state_also_after_the_upgrade() -> None:
    pause = Pause.of(check(), check("P", name="theirs"))
    times = []
    for observed in (under_way(), under_way(), over(), over()):
        pause.sync(observed)
        assert pause.memory.synced is not None
        times.append({row.check[-1]: row.since for row in pause.memory.synced.rows})

    assert times[0] == times[1]
    assert times[2] == times[3] == {"a": times[0]["a"], "s": times[0]["s"]} | {"a": times[2]["a"]}
    assert times[2]["a"] != times[0]["a"]


def test_memory_of_thousands_of_checks_that_all_failed_with_the_longest_texts_fits_into_a_payload() -> None:
    longest = Longest()
    for count, is_named in ((MOST_NAMES, True), (MOST_NAMES + 1, False)):
        checks = longest.checks(count)
        pause = Pause.of(*checks)
        for _ in range(100):
            pause.order(OrderName.PAUSE, longest.words())
        moment = pause.memory.moment(under_way(), NOW)
        failing = pause.cluster.sync(moment, NOW, list(pause.cluster.checks))
        rows = tuple(replace(row, problem=longest.words()) for row in failing.rows)
        failing = replace(failing, rows=rows, orders=moment.orders, refused=())
        assert payload_bytes(failing) < BLOB_LIMIT
        pause.memory = pause.memory.having_synced(failing, moment, NOW)

        assert payload_bytes(pause.memory) < BLOB_LIMIT
        assert (len(pause.memory.pending), failing.failed) == (count * is_named, count)
        assert (pause.memory.handled_until is not None) is is_named
