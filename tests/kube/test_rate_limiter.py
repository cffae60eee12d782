"""A burst and a steady rate, of Events and of log lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.rate_limiter import RateLimiter


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_burst_is_due_at_once_and_the_rest_at_the_steady_rate() -> None:
    rate_limiter = RateLimiter(burst=3, per_second=10, clock=Clock())

    assert [rate_limiter.reserve() for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])


def test_rest_makes_room_for_a_burst_and_no_more() -> None:
    clock = Clock()
    rate_limiter = RateLimiter(burst=3, per_second=10, clock=clock)
    for _ in range(3):
        rate_limiter.reserve()
    clock.now += 60

    assert [rate_limiter.reserve() for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


def test_token_that_is_not_due_is_refused_and_not_taken() -> None:
    clock = Clock()
    rate_limiter = RateLimiter(burst=2, per_second=10, clock=clock)
    assert [rate_limiter.allow() for _ in range(4)] == [True, True, False, False]
    clock.now += 0.15
    assert [rate_limiter.allow() for _ in range(2)] == [True, False]


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=60))
def test_never_more_than_a_burst_and_the_rate_allow(waits: list[float]) -> None:
    clock = Clock()
    rate_limiter = RateLimiter(burst=5, per_second=10, clock=clock)
    due = []
    for wait in waits:
        clock.now += wait
        due.append(clock.now + rate_limiter.reserve())

    for number, first in enumerate(due):
        within = [time for time in due[number:] if time <= first + 1]
        assert len(within) <= 5 + 10 + 1
