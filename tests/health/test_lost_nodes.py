"""Nodes that vanish together are not believed to be gone; those that go one by one are."""

from datetime import datetime, timedelta

import pytest

from health.cluster.lost_nodes import BELIEVED, SuspectedLoss, rule_of, still_suspected, suspected_loss
from health.model.observation import HoldReason
from health.policy.outage_guard import OutageGuard
from tests.support.values.builders import NOW

pytestmark = pytest.mark.rule("rule 50/vanished")

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
STRICT = OutageGuard(minimumNodes=5, percentage=90)


def lost(number: int, since: datetime = NOW, of: str = "n") -> dict[str, datetime]:
    return {f"{of}{index}": since for index in range(number)}


def suspected(
    expected: int, gone: dict[str, datetime], guard: OutageGuard | None = None
) -> SuspectedLoss | None:
    return suspected_loss(rule_of(guard), "fleet/east", expected, gone)


@pytest.mark.parametrize(
    ("gone", "expected", "guard", "is_suspected"),
    [
        (10, 10, None, True),
        (6, 10, None, True),
        (5, 10, None, False),
        (2, 2, None, True),
        (2, 3, None, True),
        (1, 1, None, False),  # a cluster of one Node: nothing tells its loss from that of the cluster
        (0, 0, None, False),
        (2, 2, OutageGuard(), False),  # the numbers of the guard, which wants three
        (3, 3, OutageGuard(), True),
        (8, 10, STRICT, False),
        (9, 10, STRICT, True),
    ],
)
def test_so_many_that_vanish_at_once_are_suspected(
    gone: int, expected: int, guard: OutageGuard | None, *, is_suspected: bool
) -> None:
    assert (suspected(expected, lost(gone), guard) is not None) is is_suspected


def test_those_that_vanish_one_by_one_are_believed() -> None:
    one_by_one = {f"n{index}": NOW + index * HOUR for index in range(10)}
    assert suspected(10, one_by_one) is None
    assert suspected(10, lost(9, BELIEVED)) is None


def test_those_that_were_gone_before_count_neither_way() -> None:
    found = suspected(12, lost(8, BELIEVED, "old") | lost(3))
    assert found is not None
    assert (found.lost, found.expected, len(found.names)) == (3, 4, 3)


def test_hold_says_how_many_and_how_a_person_confirms_it() -> None:
    found = suspected(10, lost(4) | lost(4, NOW + SECOND, "m"))
    assert found is not None
    hold = found.hold
    assert hold.reason is HoldReason.NODES_VANISHED
    assert "8 of 10 Nodes of the workload cluster fleet/east" in hold.message
    assert "paramedic.dev/confirmed-node-loss=2026-01-01T00:00:01Z" in hold.message.replace(
        (NOW + SECOND).strftime("%Y-%m-%dT%H:%M:%SZ"), "2026-01-01T00:00:01Z"
    )


def test_suspicion_ends_when_all_are_back_and_not_when_most_are() -> None:
    found = suspected(10, lost(10))
    assert found is not None
    left = still_suspected(found, lost(1), None)
    assert left is not None
    assert left.names == {"n0"}
    assert still_suspected(left, {}, None) is None
    # One that had gone long before, and is believed to be, does not prolong it.
    assert still_suspected(left, {"old": BELIEVED}, None) is None


def test_person_confirms_what_vanished_until_a_time_and_nothing_later() -> None:
    found = suspected(10, lost(10, NOW + SECOND / 2))
    assert found is not None
    assert still_suspected(found, lost(10, NOW + SECOND / 2), NOW - SECOND) is not None
    assert still_suspected(found, lost(10, NOW + SECOND / 2), NOW) is None
    later = lost(9) | lost(1, NOW + HOUR, "m")
    assert still_suspected(found, later, NOW + SECOND) is not None
