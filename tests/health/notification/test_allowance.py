"""How many requests a receiver of notifications gets, and how many notifications each of them tells."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from health.notification import RequestAllowance

SECOND = timedelta(seconds=1)


@given(st.integers(1, 600), st.lists(st.tuples(st.floats(0, 90), st.integers(0, 60)), max_size=60))
def test_no_minute_has_more_than_twice_the_limit_and_no_notification_is_left(
    most: int, arrivals: list[tuple[float, int]]
) -> None:
    now, waiting, told, sent = timedelta(), 0, 0, list[timedelta]()
    allowance = RequestAllowance.full(most, now)
    for pause, number in [*arrivals, (60.0, 0)]:
        now, waiting = now + pause * SECOND, waiting + number
        allowance = allowance.refilled(most, now)
        while waiting and not allowance.wait(most):
            count = allowance.in_next_request(waiting)
            assert count in (1, waiting)
            waiting, told = waiting - count, told + count
            allowance = allowance.spent()
            sent.append(now)
    assert (waiting, told) == (0, sum(number for _, number in arrivals))
    for begin in sent:
        assert sum(begin <= one < begin + 60 * SECOND for one in sent) <= 2 * most


def test_burst_of_500_is_nine_requests_and_a_summary() -> None:
    allowance, told = RequestAllowance.full(10, timedelta()), list[int]()
    waiting = 500
    while not allowance.wait(10):
        told.append(allowance.in_next_request(waiting))
        waiting -= told[-1]
        allowance = allowance.spent()
    assert told == [1] * 9 + [491]
    assert allowance.wait(10) == timedelta(seconds=6) * (1 - 1e-9)


@given(st.integers(1, 600), st.floats(0, 3600))
def test_wait_is_as_long_as_it_takes_to_refill(most: int, idle: float) -> None:
    allowance = RequestAllowance(0, timedelta()).refilled(most, idle * SECOND)
    ready = allowance.refilled(most, allowance.at + allowance.wait(most) + timedelta(microseconds=1))
    assert not ready.wait(most)
