from datetime import UTC, datetime, timedelta

import pytest

from cli.shared.ages import beside_time, short, with_short_times


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(), "0s"),
        (timedelta(seconds=-5), "0s"),
        (timedelta(seconds=9.9), "9s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(minutes=4, seconds=59), "4m59s"),
        (timedelta(hours=1, seconds=3), "1h"),
        (timedelta(hours=1, minutes=5, seconds=3), "1h5m"),
        (timedelta(days=3, hours=4, minutes=5), "3d4h"),
        (timedelta(days=400), "400d"),
    ],
)
def test_age_has_its_two_greatest_units(duration: timedelta, words: str) -> None:
    assert short(duration) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ready is Unknown since 2026-03-01T12:00:00Z, waiting for 5s", "Ready is Unknown, waiting for 5s"),
        ("waits for approval: reboot, asked at 2026-03-01T12:00:00Z; x", "waits for approval: reboot; x"),
        ("is rejected at 2026-03-01T12:00:00Z, by ada", "is rejected, by ada"),
        ("Ready is Unknown since 2026-03-01T11:59:59Z", "Ready is Unknown since 11:59:59Z"),
        ("2026-03-01T12:00:00Z", "12:00:00Z"),
        ("until 2026-03-01T12:00:00Z", "until 12:00:00Z"),
        ("since 2026-02-28T12:00:00Z", "since 2026-02-28T12:00:00Z"),
        ("since 2026-03-01T12:00:00.5Z", "since 2026-03-01T12:00:00.5Z"),
        ("kernel of 2026-03-01", "kernel of 2026-03-01"),
    ],
)
def test_text_beside_a_time_repeats_neither_the_time_nor_its_day(text: str, expected: str) -> None:
    assert beside_time(text, datetime(2026, 3, 1, 12, tzinfo=UTC)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("approval until 2026-03-01T12:00:01Z (then x)", "approval until 12:00Z (then x)"),
        ("held since 2026-02-28T12:00:00Z", "held since 02-28 12:00Z"),
        ("annotate it with a/b=2026-03-01T12:00:00Z", "annotate it with a/b=2026-03-01T12:00:00Z"),
        ("kernel of 2026-03-01", "kernel of 2026-03-01"),
    ],
)
def test_narrow_column_shows_the_time_of_today_without_the_day(text: str, expected: str) -> None:
    assert with_short_times(text, datetime(2026, 3, 1, 12, tzinfo=UTC)) == expected
