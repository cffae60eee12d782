"""How patient a reflector may be, so that a quiet cluster is never taken for a stale one."""

from datetime import timedelta

import pytest

from kube.reflector_settings import PATIENT

SETTLING = timedelta(seconds=1)
"""After which a watch that was accepted is a proof of life."""


@pytest.mark.parametrize("limit", [60, 61, 600])
def test_a_limit_of_a_minute_or_more_leaves_all_as_it_is(limit: int) -> None:
    assert PATIENT.proving_life_within(timedelta(seconds=limit)) == PATIENT


@pytest.mark.parametrize("seconds", [6, 10, 15, 30, 41, 59])
def test_silence_ends_a_third_of_the_limit_before_it_is_too_long(seconds: int) -> None:
    limit = timedelta(seconds=seconds)
    settings = PATIENT.proving_life_within(limit)
    assert settings.watching.silence == limit * 2 / 3
    assert settings.watching.silence + SETTLING < limit


@pytest.mark.parametrize("seconds", [6, 10, 15, 30])
def test_kind_that_is_not_served_is_asked_for_within_the_limit(seconds: int) -> None:
    limit = timedelta(seconds=seconds)
    assert PATIENT.proving_life_within(limit).waits.absent < limit


@pytest.mark.parametrize("seconds", [1, 6, 10, 15, 60])
def test_watch_that_was_silent_until_its_end_has_lasted(seconds: int) -> None:
    settings = PATIENT.proving_life_within(timedelta(seconds=seconds))
    assert settings.steady < settings.watching.silence
