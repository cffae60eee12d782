"""When are so many Nodes silent at once that what sees them is suspected?"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.cluster.cluster_context import ClusterContext
from health.model.node import REGION_LABEL, ZONE_LABEL
from health.model.observation import HoldReason
from health.policy.outage_guard import (
    NO_OUTAGE,
    GroupOutage,
    NodeGroup,
    OutageGuard,
    Outages,
    SuspectedOutage,
    lacking,
    suspicions,
)
from tests.support.values.builders import NOW
from tests.support.values.held import latest_restart

GUARD = OutageGuard()
SITE = "example.com/site"
ALL, ZONE = NodeGroup(), NodeGroup(label=ZONE_LABEL, value="a")
SITE_S = NodeGroup(label=SITE, value="s")
A, B = {ZONE_LABEL: "a"}, {ZONE_LABEL: "b"}
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

pytestmark = pytest.mark.rule("rule 37", "rule 62")


def ago(*minutes: float) -> list[datetime]:
    return [NOW - MINUTE * number for number in minutes]


def first(total: int, silent: Sequence[datetime], guard: OutageGuard = GUARD) -> SuspectedOutage | None:
    return next(suspicions(guard, ALL, total, silent), None)


@pytest.mark.parametrize(
    ("total", "silent", "found"),
    [
        (10, ago(), None),
        (2, ago(1, 1), None),  # fewer than three are never one, however many there are
        (3, ago(1, 1, 1), (3, 3)),
        (5, ago(1, 1, 1), (3, 5)),
        (6, ago(1, 1, 1), None),  # half of them
        (10, ago(3, 3, 2, 2, 1, 1), (6, 10)),
        (10, ago(7, 7, 7, 2, 2, 1), None),  # three and three, apart
        (10, ago(6, 5, 4, 3, 2, 1), (6, 10)),  # within just five minutes
        (10, ago(6.1, 5, 4, 3, 2, 1), None),
        (10, ago(900, 900, 900, 900, 900, 1, 1, 1), (3, 5)),  # what was silent long before tells nothing
        (10, ago(900, 900, 900, 900, 1, 1, 1), None),
        (10, ago(900, 900, 900, 900, 900, 900), (6, 10)),  # at whatever time: the limit is another matter
    ],
)
def test_outage_is_enough_nodes_that_fell_silent_within_the_window_and_still_are(
    total: int, silent: list[datetime], found: tuple[int, int] | None
) -> None:
    suspected = first(total, silent)
    assert (suspected and (suspected.silent, suspected.seen)) == found


def test_numbers_of_the_policy_decide() -> None:
    strict = OutageGuard(minimumNodes=5, percentage=90, window=timedelta(seconds=30))
    assert first(10, ago(*[1] * 8), strict) is None
    assert first(10, ago(*[1] * 9), strict) is not None
    assert first(4, ago(*[1] * 4), strict) is None
    assert first(10, ago(*[1] * 8, 2), strict) is None


TIMES = st.lists(st.integers(0, 900).map(lambda seconds: NOW - SECOND * seconds), max_size=30)
GUARDS = st.builds(
    OutageGuard,
    minimumNodes=st.integers(2, 6),
    percentage=st.integers(1, 100),
    window=st.integers(10, 600).map(lambda seconds: SECOND * seconds),
    holdLimit=st.sampled_from([timedelta(), MINUTE, HOUR]),
    labels=st.dictionaries(st.just(SITE), st.integers(2, 6)),
)


@given(GUARDS, TIMES, st.integers(0, 30), st.integers(0, 900))
def test_one_more_silent_node_never_ends_a_suspicion(
    guard: OutageGuard, silent: list[datetime], healthy: int, age: int
) -> None:
    """The additional silent Node was healthy before, or is a new Node that fell silent with the others."""
    total = len(silent) + healthy
    before = NO_OUTAGE.after(guard, ALL, total, silent, NOW).suspected
    if before is None:
        return
    was_healthy = [*silent, NOW - SECOND * age]
    assert NO_OUTAGE.after(guard, ALL, max(total, len(was_healthy)), was_healthy, NOW).suspected is not None
    assert NO_OUTAGE.after(guard, ALL, total + 1, [*silent, before.began], NOW).suspected is not None


@given(GUARDS, TIMES, st.integers(0, 30))
def test_fewer_than_the_minimum_or_the_percentage_never_begin_one_and_healthy_nodes_never_do(
    guard: OutageGuard, silent: list[datetime], healthy: int
) -> None:
    total = len(silent) + healthy
    found = next(suspicions(guard, ALL, total, silent), None)
    if found is None:
        assert next(suspicions(guard, ALL, total + 1, silent), None) is None
        return
    assert len(silent) >= found.silent >= guard.minimum_nodes
    # What is asked of each Node that falls silent, before all times are looked at.
    assert guard.are_enough(len(silent), total)
    assert found.lasted <= guard.window


def outage(*known: tuple[datetime, int, list[datetime]], guard: OutageGuard | None = GUARD) -> GroupOutage:
    """The result of all these changes: the time, the number of Nodes, and the silent ones."""
    group = NO_OUTAGE
    for now, total, silent in known:
        group = group.after(guard, ZONE, total, silent, now)
    return group


def test_words_name_the_numbers_and_stay_while_more_fall_silent() -> None:
    began = outage((NOW, 4, ago(1, 0.9, 0.9)))
    went_on = began.after(GUARD, ZONE, 4, ago(1, 0.9, 0.9, 0), NOW + SECOND)
    assert went_on == began
    assert began.suspected is not None
    assert began.suspected.hold.reason is HoldReason.SUSPECTED_OUTAGE
    assert began.suspected.hold.message == (
        "3 of 4 Nodes of the zone a of the cluster turned Ready=Unknown within 6s, "
        "from 2026-03-01T11:59:00Z on: their monitoring is suspected, not the Nodes"
    )
    of_another = SuspectedOutage(
        group=NodeGroup("fleet/east"), silent=5, seen=5, total=5, began=NOW, lasted=timedelta()
    )
    assert "5 of 5 Nodes of the workload cluster fleet/east turned Ready=Unknown at once" in (
        of_another.hold.message
    )


def test_end_is_when_fewer_are_silent_and_is_remembered() -> None:
    ended = outage((NOW, 4, ago(1, 1, 1)), (NOW + MINUTE, 4, ago(1, 1)), (NOW + HOUR, 4, []))
    assert ended == GroupOutage(None, NOW + MINUTE)


def test_outage_that_is_real_holds_no_longer_than_the_limit_and_restarts_no_clock() -> None:
    began, silent = NOW - MINUTE, ago(1, 1, 1)
    assert outage((NOW, 4, silent), (began + HOUR - SECOND, 4, silent)).suspected is not None
    given_way = outage((NOW, 4, silent), (began + HOUR, 4, silent))
    assert given_way == NO_OUTAGE
    # That they are remediated by then ends nothing that held.
    assert given_way.after(GUARD, ZONE, 4, silent[:1], NOW + HOUR * 2) == NO_OUTAGE

    for_ever = OutageGuard(holdLimit=timedelta())
    assert outage((NOW, 4, silent), (NOW + HOUR * 99, 4, silent), guard=for_ever).suspected is not None


def test_next_outage_holds_while_the_nodes_of_the_one_before_are_still_silent() -> None:
    later = NOW + HOUR * 2
    silent = [*ago(1, 1, 1), later, later, later]
    assert outage((NOW, 6, ago(1, 1, 1)), (later, 6, silent)).suspected is not None


def test_guard_that_is_turned_off_holds_nothing_and_restarts_no_clock() -> None:
    silent = ago(1, 1, 1)
    assert outage((NOW, 4, silent)).after(None, ZONE, 4, silent, NOW) == NO_OUTAGE
    assert outage((NOW, 4, silent), guard=None) == NO_OUTAGE


def test_outage_that_ended_without_a_look_ends_at_the_first_look() -> None:
    noted = GroupOutage(None, NOW - HOUR, was_noted=True)
    assert noted.after(GUARD, ZONE, 4, [], NOW) == GroupOutage(None, NOW)
    still = noted.after(GUARD, ZONE, 4, ago(1, 1, 1), NOW)
    assert (still.suspected is not None, still.ended) == (True, NOW - HOUR)


def test_zone_holds_its_own_targets_and_restarts_their_clocks_alone() -> None:
    suspected = SuspectedOutage(group=ZONE, silent=3, seen=3, total=3, began=NOW, lasted=timedelta())
    outages = Outages(
        {
            ZONE: GroupOutage(suspected, NOW - MINUTE),
            ALL: GroupOutage(None, NOW - HOUR),
            NodeGroup("fleet/east"): GroupOutage(None, NOW),
        }
    )
    places = [("", A), ("", B), ("", {}), ("fleet/east", A)]
    assert [outages.hold_of_node(cluster, "n", labels) is not None for cluster, labels in places] == [
        True,
        False,
        False,
        False,
    ]
    assert outages.hold("") is None
    context = ClusterContext(outages=outages)
    assert latest_restart(context, "", A) == NOW - MINUTE
    assert latest_restart(context, "", B) == NOW - HOUR
    assert latest_restart(context, "") == NOW - HOUR
    assert latest_restart(context, "fleet/east", A) == NOW
    assert latest_restart(context, "fleet/west") is None


def test_node_is_held_by_an_outage_of_any_of_its_domains() -> None:
    groups = [
        NodeGroup(label=REGION_LABEL, value="eu"),
        NodeGroup(label=ZONE_LABEL, value="eu/a"),
        SITE_S,
    ]
    outages = {
        group: GroupOutage(
            SuspectedOutage(group=group, silent=3, seen=3, total=3, began=NOW, lasted=timedelta())
        )
        for group in groups
    }
    labels = {REGION_LABEL: "eu", ZONE_LABEL: "a", SITE: "s"}
    gone = {("", "gone"): (ALL, *groups)}
    for number, words in enumerate(("the region eu", "the zone a of the region eu", f"the domain {SITE}=s")):
        kept = Outages({group: outages[group] for group in groups[number:]}, gone)
        for hold in (kept.hold_of_node("", "n", labels), kept.hold_of_node("", "gone", {})):
            assert hold is not None
            assert f"3 of 3 Nodes of {words} of the cluster" in hold.message
    assert Outages(outages).hold_of_node("", "n", {REGION_LABEL: "us", ZONE_LABEL: "a"}) is None


@pytest.mark.parametrize(
    ("label", "silent", "total", "is_one"),
    [
        (None, 2, 2, False),
        (SITE, 2, 2, True),
        (SITE, 2, 4, False),  # the percentage counts, too
        ("example.com/rack", 2, 2, True),
        (ZONE_LABEL, 4, 4, False),  # a minimum for zones
        (ZONE_LABEL, 5, 5, True),
        (REGION_LABEL, 3, 3, True),
    ],
)
def test_label_has_a_minimum_of_its_own(label: str | None, silent: int, total: int, *, is_one: bool) -> None:
    guard = OutageGuard(labels={SITE: 2, "example.com/rack": 2, ZONE_LABEL: 5})
    group = NodeGroup(label=label, value="x")
    assert any(suspicions(guard, group, total, ago(*[1] * silent))) is is_one


@given(
    GUARDS, TIMES, TIMES, st.integers(0, 30), st.integers(0, 900), st.sampled_from([ALL, SITE_S]), st.data()
)
def test_no_outage_begins_before_as_many_changed_as_are_lacking(  # noqa: PLR0913, PLR0917  what may change
    guard: OutageGuard,
    silent: list[datetime],
    others: list[datetime],
    heard: int,
    seconds: int,
    group: NodeGroup,
    data: st.DataObject,
) -> None:
    given_way = NOW - SECOND * seconds if guard.hold_limit else None
    total = len(silent) + len(others) + heard
    if any(suspicions(guard, group, total, silent, given_way)):
        return
    changes = lacking(guard, group, total, silent, given_way) - 1
    turned = data.draw(st.integers(0, min(changes, len(others))))
    gone = data.draw(st.integers(0, min(changes - turned, heard)))
    assert not any(suspicions(guard, group, total - gone, [*silent, *others[:turned]], given_way))
