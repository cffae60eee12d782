from datetime import timedelta

import pytest

from cli.shared.ages import short


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
