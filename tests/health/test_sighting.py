"""Since when a condition has its status, by what the detector saw."""

from datetime import datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.cluster.cluster_context import ClusterContext
from health.model.node import Node
from health.model.sighting import (
    Gap,
    Look,
    Restart,
    RestartCause,
    Sighting,
    sightings,
    with_gap,
)
from health.model.verdict import CountedFact, Fact, Health, UnhealthyCondition, judged, matches
from tests.support.values.builders import NOW, condition, node, verdict

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
TEN = timedelta(seconds=10)
RULES = tuple(
    UnhealthyCondition(type="Ready", status=status, duration=TEN) for status in ("False", "Unknown")
)


class Seen(NamedTuple):
    """A status with its written time, and when it was seen; times are seconds after NOW."""

    status: str
    """"": the Node does not have the condition."""
    written: float | None
    at: float
    proven: float | None = None
    """The last proven look before; None: as long before as a proof takes at most."""
    is_unbroken: bool = True


def after(*seen: Seen) -> Node:
    """The Node with its sightings after these looks."""
    found: Node | None = None
    for look in seen:
        written = None if look.written is None else NOW + timedelta(seconds=look.written)
        at = NOW + timedelta(seconds=look.at)
        since = None if found is None else at - TEN
        if look.proven is not None:
            since = NOW + timedelta(seconds=look.proven)
        stated = condition("Ready", look.status) | {"lastTransitionTime": written}
        found = node(*[stated] if look.status else []).seen_after(
            found, Look(at=at, since=since, is_unbroken=look.is_unbroken)
        )
    assert found is not None
    return found


def bare(seen: Node) -> Node:
    """The object as the API server has it."""
    return seen.model_copy(update={"sightings": None})


def since(found: Node) -> float:
    """Since when it is not ready, in seconds after NOW."""
    match = matches(found, RULES)[0]
    return (match.fact.since - NOW).total_seconds()


HEALTHY = Seen("True", -86400, 0)


@pytest.mark.rule("rule 56", "rule 57")
@pytest.mark.parametrize(
    ("looks", "began"),
    [
        ([HEALTHY, Seen("False", 59, 60)], 59),
        ([HEALTHY, Seen("False", -10800, 60)], 60),
        ([HEALTHY, Seen("False", 40, 60, proven=45)], 60),
        ([HEALTHY, Seen("False", 46, 60, proven=45)], 46),
        ([HEALTHY, Seen("False", 59, 60, proven=59.9)], 59),
        ([HEALTHY, Seen("False", None, 60)], 60),
        ([HEALTHY, Seen("False", 7200, 60)], 60),
        ([HEALTHY, Seen("False", -86400, 60)], 60),
        # A first look has no look before it.
        ([Seen("False", -10800, 0)], -10800),
        ([Seen("False", 7200, 0)], 0),
        ([Seen("False", None, 0)], 0),
        # The same status with a new time, or none, is no other failure.
        ([HEALTHY, Seen("False", 59, 60), Seen("False", 74, 75), Seen("False", 89, 90)], 59),
        ([HEALTHY, Seen("False", -10800, 60), Seen("False", 74, 75)], 60),
        ([Seen("False", -10800, 0), Seen("False", 14, 15)], -10800),
        ([Seen("False", 59, 60), Seen("False", None, 75), Seen("False", 89, 90)], 59),
        ([Seen("False", 59, 60), Seen("False", -10800, 75)], 59),
        ([Seen("False", 7200, 0), Seen("False", 7215, 15)], 0),
        # Another status restarts, and a status of the same rules counts anew too.
        ([Seen("False", 0, 0), Seen("True", 20, 20), Seen("False", 30, 30)], 30),
        ([Seen("False", 0, 0), Seen("True", 20, 20), Seen("False", 0, 30)], 30),
        ([Seen("False", 0, 0), Seen("Unknown", 20, 20)], 20),
        # A broken look may have missed another status, unless the time says that there was none.
        ([Seen("False", 0, 0), Seen("False", 0, 300, proven=10, is_unbroken=False)], 0),
        ([Seen("False", 0, 0), Seen("False", 200, 300, proven=10, is_unbroken=False)], 200),
        ([Seen("False", 0, 0), Seen("False", 5, 300, proven=10, is_unbroken=False)], 300),
        ([HEALTHY, Seen("False", 200, 300, proven=10, is_unbroken=False)], 200),
        # An absent condition is no status: what it had before counts, for an hour.
        ([Seen("", None, 0), Seen("False", -10800, 60)], -10800),
        ([HEALTHY, Seen("", None, 20), Seen("False", -10800, 60)], 60),
        ([HEALTHY, Seen("", None, 20), Seen("", None, 40), Seen("False", -10800, 60)], 60),
        ([HEALTHY, Seen("", None, 20), Seen("False", 55, 60)], 55),
        ([HEALTHY, Seen("", None, 20), Seen("False", None, 60)], 60),
        ([HEALTHY, Seen("", None, 20), Seen("", None, 3621), Seen("False", -10800, 3640)], -10800),
        ([Seen("False", 0, 0), Seen("", None, 20), Seen("False", 0, 60)], 0),
        ([Seen("False", 7200, 0), Seen("", None, 20), Seen("False", 7200, 60)], 0),
        ([Seen("False", 0, 0), Seen("", None, 20), Seen("False", 10, 60)], 60),
        ([Seen("False", None, 0), Seen("", None, 20), Seen("False", None, 60)], 60),
    ],
)
def test_failure_began_at_its_time_but_only_between_the_looks(looks: list[Seen], began: float) -> None:
    assert since(after(*looks)) == began


def test_condition_that_was_absent_had_no_other_status() -> None:
    bare, at = node(), Look(at=NOW, since=NOW - SECOND)
    failed = node(condition("Ready", "False", NOW - HOUR)).seen_after(bare, at)
    assert matches(failed, RULES)[0].fact.since == NOW - HOUR


def test_object_of_another_uid_is_seen_for_the_first_time() -> None:
    before = after(HEALTHY)
    other = node(condition("Ready", "False", NOW - HOUR), uid="another")
    found = other.seen_after(before, Look(at=NOW, since=NOW - SECOND))
    assert matches(found, RULES)[0].fact.since == NOW - HOUR


def test_healthy_object_keeps_no_sighting() -> None:
    assert after(HEALTHY).sightings is None
    assert after(HEALTHY, Seen("True", -86400, 20)).sightings is None


def test_no_object_brings_sightings_with_it() -> None:
    raw = {"metadata": {"name": "a", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    with pytest.raises(ValueError, match="sightings"):
        Node.model_validate(raw | {"sightings": {"Ready": {"since": "2026-01-01T00:00:00Z"}}})


@pytest.mark.parametrize(
    ("looks", "words"),
    [
        ([Seen("False", 59, 60)], "Ready is False since 2026-03-01T12:00:59Z, waiting for 10s"),
        (
            [HEALTHY, Seen("False", -10800, 60)],
            (
                "Ready is False since 2026-03-01T12:01:00Z (first seen then, while its own time is "
                "2026-03-01T09:00:00Z), waiting for 10s"
            ),
        ),
        (
            [HEALTHY, Seen("False", 7200, 60)],
            (
                "Ready is False since 2026-03-01T12:01:00Z (first seen then, while its own time is "
                "2026-03-01T14:00:00Z), waiting for 10s"
            ),
        ),
        (
            [HEALTHY, Seen("False", None, 60)],
            (
                "Ready is False since 2026-03-01T12:01:00Z (first seen then, as it has no time of its own), "
                "waiting for 10s"
            ),
        ),
        (
            [Seen("False", 59, 60), Seen("False", 74, 75)],
            (
                "Ready is False since 2026-03-01T12:00:59Z (its own time is written anew again and again), "
                "waiting for 10s"
            ),
        ),
    ],
)
def test_words_name_the_clock_that_states_the_time(looks: list[Seen], words: str) -> None:
    found = after(*looks)
    assert verdict(found, RULES, NOW + timedelta(seconds=61)).reason == words


def test_rewritten_times_and_changes_of_status_are_counted() -> None:
    flicker = [HEALTHY, Seen("False", 10, 10), Seen("True", 20, 20), Seen("False", 30, 30)]
    fact = matches(after(*flicker, Seen("False", 40, 40), Seen("False", 50, 50)), RULES)[0].fact
    assert (fact.since, fact.changes, fact.rewritten) == (NOW + timedelta(seconds=30), 3, 2)
    later = matches(after(*flicker, Seen("True", 40, 40), Seen("False", 7200, 7200)), RULES)[0].fact
    assert later.changes == 1


def test_act_finds_the_failure_in_the_live_object_whatever_its_time_says() -> None:
    for looks in (
        [HEALTHY, Seen("False", -10800, 60)],
        [HEALTHY, Seen("False", 7200, 60)],
        [Seen("False", 5, 9)],
    ):
        seen = after(*looks)
        live = bare(seen)
        fact = matches(seen, RULES)[0].fact
        assert fact.is_stated_by(matches(live, RULES)[0].fact)
        other = node(condition("Ready", "False", NOW + MINUTE * 30))
        assert not fact.is_stated_by(matches(other, RULES)[0].fact)
        assert not fact.is_stated_by(matches(node(condition("Ready", "Unknown", NOW)), RULES)[0].fact)
    rewritten = matches(after(Seen("False", 5, 9), Seen("False", 20, 24)), RULES)[0].fact
    assert rewritten.is_stated_by(matches(node(condition("Ready", "False", NOW + HOUR)), RULES)[0].fact)


STATUSES = st.sampled_from(["True", "False", "Unknown"])
OFFSETS = st.none() | st.integers(-10_000, 10_000)


@given(st.lists(st.tuples(STATUSES, OFFSETS, st.integers(1, 100)), min_size=1, max_size=12))
def test_failure_never_begins_in_the_future_nor_before_the_last_other_status(
    steps: list[tuple[str, int | None, int]],
) -> None:
    at, other, looks, status = 0, None, [], ""
    for now_status, written, wait in steps:
        if status and now_status != status:
            other = at
        at, status = at + wait, now_status
        looks.append(Seen(now_status, None if written is None else at + written, at, proven=at - wait))
    found = after(*looks)
    if status == "True":
        return
    began = since(found)
    assert began <= at
    assert other is None or began > other - 1


@pytest.mark.rule("rule 58")
@pytest.mark.parametrize(
    ("gap", "duration", "restarts"),
    [(3 * SECOND, TEN, False), (TEN, TEN, False), (11 * SECOND, TEN, True), (21 * 24 * HOUR, HOUR, True)],
)
def test_gap_restarts_only_the_timers_of_shorter_durations(
    gap: timedelta,
    duration: timedelta,
    restarts: bool,  # noqa: FBT001  a table
) -> None:
    rules = (UnhealthyCondition(type="Ready", status="False", duration=duration),)
    failed = node(condition("Ready", "False", NOW - gap - HOUR))
    context = ClusterContext(lost={"": (Gap(since=NOW - gap, until=NOW),)})
    found = verdict(failed, rules, NOW + SECOND, context.restarts(""))
    assert (found.health is Health.WAITING) is restarts
    if restarts:
        assert found.deadline == NOW + duration
        assert "when a detector looked again" in found.reason


def test_gaps_before_a_longer_one_are_forgotten_and_longer_ones_kept() -> None:
    gaps: tuple[Gap, ...] = ()
    for began, lasted in ((0, 50), (100, 5), (200, 20), (300, 10), (400, 10)):
        at = NOW + timedelta(seconds=began)
        gaps = with_gap(gaps, Gap(since=at, until=at + timedelta(seconds=lasted)))
    assert [gap.lasted.total_seconds() for gap in gaps] == [50, 20, 10]


@given(st.permutations([(0, 50), (100, 5), (200, 20), (300, 10), (400, 10)]))
def test_gaps_count_by_their_ends_in_whatever_order_they_are_noted(steps: list[tuple[int, int]]) -> None:
    gaps: tuple[Gap, ...] = ()
    for began, lasted in steps:
        at = NOW + timedelta(seconds=began)
        gap = Gap(since=at, until=at + timedelta(seconds=lasted))
        gaps = with_gap(with_gap(gaps, gap), gap)
    assert [gap.lasted.total_seconds() for gap in gaps] == [50, 20, 10]


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 500)), max_size=30), st.integers(1, 400))
def test_kept_gaps_restart_a_timer_as_all_gaps_would(steps: list[tuple[int, int]], duration: int) -> None:
    at, gaps, every = NOW, tuple[Gap, ...](), list[Gap]()
    for wait, lasted in steps:
        gap = Gap(since=at + timedelta(seconds=wait), until=at + timedelta(seconds=wait + lasted))
        at, gaps = gap.until, with_gap(gaps, gap)
        every.append(gap)
    wanted = max((gap.until for gap in every if gap.lasted > timedelta(seconds=duration)), default=None)
    kept = max((gap.until for gap in gaps if gap.lasted > timedelta(seconds=duration)), default=None)
    assert kept == wanted or len(gaps) == 8


def test_condition_that_a_short_loss_did_not_change_goes_on() -> None:
    restart = Restart(NOW, RestartCause.CONNECTION, HOUR)
    known = Sighting(since=NOW - HOUR, seen=NOW - HOUR, unmoved_at=NOW)
    assert not restart.restarts(MINUTE, known)
    assert restart.restarts(MINUTE, None)
    assert Restart(NOW + SECOND, RestartCause.CONNECTION, HOUR).restarts(MINUTE, known)
    assert Restart(NOW, RestartCause.UNWATCHED, HOUR).restarts(MINUTE, known)


def counted(fact: Fact, counted_from: datetime) -> CountedFact:
    return CountedFact(fact=fact, counted_from=counted_from, as_of=NOW)


@pytest.mark.rule("rule 1")
def test_new_process_counts_a_failure_as_its_incident_did() -> None:
    seen = after(HEALTHY, Seen("False", -10800, 60))
    fact = matches(seen, RULES)[0].fact
    live = bare(seen).seen_after(None, Look(at=NOW + MINUTE))
    assert matches(live, RULES)[0].fact.since == NOW - 3 * HOUR

    again = counted(fact, NOW + MINUTE * 2).on(live, "Ready")
    match = matches(again, RULES, (Restart(NOW - SECOND, RestartCause.UPGRADE),))[0]
    assert (match.fact.since, match.began) == (fact.since, NOW + MINUTE * 2)
    later = Restart(NOW + MINUTE * 5, RestartCause.UNWATCHED, HOUR)
    assert matches(again, RULES, (later,))[0].began == later.at
    assert judged(matches(again, RULES), NOW).fact == fact


@pytest.mark.rule("rule 1")
def test_new_process_believes_no_incident_about_another_failure() -> None:
    fact = Fact(condition="Ready", status="False", since=NOW)
    for live in (
        node(condition("Ready", "True", NOW)),
        node(condition("Ready", "Unknown", NOW)),
        node(condition("Ready", "False", NOW + HOUR)),
        node(),
        after(HEALTHY, Seen("False", 0, 60)),
    ):
        assert counted(fact, NOW).on(live, "Ready") == live


def test_sightings_of_nothing_are_empty() -> None:
    assert sightings(None, None, (), Look(at=NOW)) == {}


def test_second_condition_of_a_type_is_not_judged() -> None:
    twice = condition("Ready", "True", NOW), condition("Ready", "False", NOW - HOUR)
    assert [one.status for one in node(*twice, condition("Other", "False", NOW)).status.conditions] == [
        "True",
        "False",
    ]
    assert matches(node(*twice), RULES) == []
