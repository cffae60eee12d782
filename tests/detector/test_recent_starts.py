"""Starts within the last hour are counted the same in any order in which Temporal lists closed workflows."""

from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.limits.in_flight import Remediated
from detector.limits.remediation_records import RecentStarts
from health.policy.limits import HOUR
from tests.support.state.small_cluster import CHECK
from tests.support.values.builders import MINUTE, NOW

pytestmark = pytest.mark.rule("rule 43")

NODE = Remediated(CHECK, "node-1")


def count(began: list[datetime], ended: list[datetime]) -> int:
    starts = RecentStarts()
    for time in began:
        starts.note(NODE, time)
    for time in ended:
        starts.note_ended(NODE, time)
    return sum(time > NOW - HOUR for time in starts.of(NODE))


def ago(minutes: float) -> datetime:
    return NOW - minutes * MINUTE


@pytest.mark.parametrize(
    ("began", "ended", "number"),
    [
        pytest.param([], [ago(40), ago(10)], 2, id="two of one node, none seen to begin"),
        pytest.param([], [ago(10), ago(40)], 2, id="the same, listed the other way round"),
        pytest.param([ago(50)], [ago(40)], 1, id="one that was seen to begin"),
        pytest.param([ago(50)], [ago(40), ago(10)], 2, id="the first was seen to begin"),
        pytest.param([ago(20)], [ago(40), ago(10)], 2, id="the second was seen to begin"),
        pytest.param([ago(5)], [ago(40), ago(10)], 3, id="a third is under way"),
        pytest.param([ago(50), ago(45)], [ago(40)], 2, id="its request was lost and made anew"),
        pytest.param([], [ago(70)], 0, id="over an hour ago"),
    ],
)
def test_count(began: list[datetime], ended: list[datetime], number: int) -> None:
    assert count(began, ended) == number


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=8), st.randoms())
def test_each_remediation_counts_once_in_whatever_order_and_however_often_it_is_listed(
    remediations: list[tuple[int, bool]], random: Random
) -> None:
    now, began, ended = NOW - HOUR, [], []
    for minutes, is_seen in remediations:
        now += timedelta(seconds=30)
        began += [now] if is_seen else []
        now += minutes * MINUTE
        ended.append(now)
    listed = ended * 2
    random.shuffle(listed)
    assert count(began, listed) == len(remediations)


def test_listed_start_is_forgotten_after_an_hour() -> None:
    starts = RecentStarts()
    starts.note(NODE, ago(50))
    assert starts.note_ended(NODE, ago(40))
    assert not starts.note_ended(NODE, ago(40))
    starts.forget(ago(30))
    assert starts.of(NODE) == ()
    assert starts.note_ended(NODE, ago(40)), "the start was forgotten"
