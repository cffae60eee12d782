"""Durations as the schema of NodeHealthCheck takes them, and as people read them."""

import re
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from objects.durations import (
    PATTERN,
    as_go,
    in_words,
    parse_duration,
    parse_go_duration,
    parse_signed_duration,
)

ROUNDING = timedelta(microseconds=1)
UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        pytest.param("300s", timedelta(minutes=5), id="seconds"),
        pytest.param("5m30s", timedelta(minutes=5, seconds=30), id="two units"),
        pytest.param("1h0m5s", timedelta(hours=1, seconds=5), id="a part of zero"),
        pytest.param("1.5h", timedelta(minutes=90), id="a fraction"),
        pytest.param("0.25s", timedelta(milliseconds=250), id="a fraction of a second"),
        pytest.param("30s5m", timedelta(minutes=5, seconds=30), id="units in any order"),
        pytest.param("1s1s", timedelta(seconds=2), id="a unit twice"),
        pytest.param("250ms", timedelta(milliseconds=250), id="milliseconds"),
        pytest.param("7us", timedelta(microseconds=7), id="us"),
        pytest.param("7µs", timedelta(microseconds=7), id="µs"),
        pytest.param("3000ns", timedelta(microseconds=3), id="nanoseconds"),
        pytest.param("0s", timedelta(), id="nothing"),
        pytest.param("0.1s", timedelta(milliseconds=100), id="a fraction that binary floats cannot hold"),
    ],
)
def test_duration_means_what_kubernetes_means_by_it(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("0", id="zero without a unit"),
        pytest.param("300", id="no unit"),
        pytest.param("5 m", id="a space"),
        pytest.param(" 5m", id="a space before"),
        pytest.param("5m\n", id="a line end"),
        pytest.param("1d", id="days"),
        pytest.param("-5m", id="a minus"),
        pytest.param("+5m", id="a plus"),
        pytest.param("5M", id="a capital"),
        pytest.param(".5s", id="no digit before the point"),
        pytest.param("5.s", id="no digit behind the point"),
        pytest.param("1,5s", id="a comma"),
        pytest.param("5μs", id="the Greek letter instead of the micro sign"),
        pytest.param("٣s", id="digits of another script"),
        pytest.param(300, id="a number"),
        pytest.param(None, id="null"),
    ],
)
def test_duration_outside_the_pattern_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="must be a duration such as 300s"):
        parse_duration(text)


def test_longest_duration_that_a_clock_holds_is_taken() -> None:
    assert parse_duration("2562047h47m16.8s") == timedelta(microseconds=9223372036800000)


@pytest.mark.rule("rule 44/duration")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("2562047h47m16.9s", id="a moment too long"),
        pytest.param("99999999999h", id="the one that blinds the operator"),
        pytest.param("9" * 400 + "h", id="more than a float holds"),
        pytest.param("9223372036864775808ns", id="in nanoseconds"),
        pytest.param("2562047h2562047h", id="only as a sum"),
    ],
)
def test_duration_that_no_clock_can_hold_is_refused_in_words(text: str) -> None:
    assert re.fullmatch(PATTERN, text)
    with pytest.raises(ValueError, match="longer than any clock can hold"):
        parse_duration(text)


def test_signed_duration_may_be_negative() -> None:
    assert parse_signed_duration("-1h30m") == -timedelta(minutes=90)
    assert parse_signed_duration("90m") == timedelta(minutes=90)


def test_negative_duration_that_no_clock_can_hold_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="longer than any clock can hold"):
        parse_signed_duration("-99999999999h")


@pytest.mark.parametrize("text", ["--5m", "-", "-5", "5m-3s", None])
def test_signed_duration_has_one_minus_at_its_beginning(text: object) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        parse_signed_duration(text)


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        pytest.param(timedelta(), "0s", id="nothing"),
        pytest.param(timedelta(seconds=3), "3s", id="seconds"),
        pytest.param(timedelta(seconds=299), "4m59s", id="minutes"),
        pytest.param(timedelta(minutes=65), "1h5m", id="no seconds"),
        pytest.param(timedelta(hours=2), "2h", id="hours alone"),
        pytest.param(timedelta(days=2, seconds=1), "48h1s", id="more than a day"),
        pytest.param(timedelta(seconds=59.6), "1m", id="rounded"),
        pytest.param(-timedelta(seconds=5), "0s", id="what is over"),
    ],
)
def test_duration_in_words(duration: timedelta, words: str) -> None:
    assert in_words(duration) == words


@given(
    st.lists(
        st.tuples(st.integers(0, 10_000), st.integers(0, 999_999_999), st.sampled_from(sorted(UNITS))),
        min_size=1,
        max_size=6,
    )
)
def test_duration_is_the_sum_of_its_parts(parts: list[tuple[int, int, str]]) -> None:
    text = "".join(f"{whole}.{fraction}{unit}" for whole, fraction, unit in parts)
    nanoseconds = sum(int(Fraction(f"{whole}.{fraction}") * UNITS[unit]) for whole, fraction, unit in parts)

    # Each part is rounded to a microsecond, the smallest that a timedelta holds.
    assert abs(parse_duration(text) - timedelta(microseconds=nanoseconds // 1000)) <= ROUNDING * len(parts)


@given(st.integers(0, 10**9))
def test_words_of_whole_seconds_are_a_duration_again(seconds: int) -> None:
    assert parse_duration(in_words(timedelta(seconds=seconds))) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(microseconds=7), "7µs"),
        (timedelta(milliseconds=1.5), "1.5ms"),
        (timedelta(milliseconds=500), "500ms"),
        (timedelta(seconds=1.25), "1.25s"),
        (timedelta(seconds=10), "10s"),
        (timedelta(minutes=10), "10m0s"),
        (timedelta(minutes=1, seconds=0.05), "1m0.05s"),
        (timedelta(hours=1), "1h0m0s"),
        (timedelta(days=2, minutes=3, seconds=40), "48h3m40s"),
    ],
)
def test_duration_is_written_as_go_writes_it(duration: timedelta, text: str) -> None:
    assert as_go(duration) == text


@given(st.timedeltas(timedelta(), timedelta(days=365_00)))
def test_duration_in_the_format_of_go_is_read_again(duration: timedelta) -> None:
    assert abs(parse_go_duration(as_go(duration)) - duration) <= ROUNDING
