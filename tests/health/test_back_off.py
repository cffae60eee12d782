"""How long does a remediation wait that follows an earlier one of the same target?"""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.gate.back_off import EndedAttempt, RemediationBackOff, delay
from health.model.observation import HoldReason
from tests.support.values.builders import NOW

LIMIT = timedelta(minutes=30)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
LIMITS = st.timedeltas(min_value=timedelta(), max_value=timedelta(days=366))


def back_off(
    number: int, *, limit: timedelta = LIMIT, requested: timedelta | None = None
) -> RemediationBackOff:
    """The `number`-th remediation in a row ended NOW; its request was made so long before."""
    made = None if requested is None else NOW - requested
    return RemediationBackOff(limit, EndedAttempt(number, NOW, made))


@pytest.mark.rule("rule 14", "rule 14/limit")
@pytest.mark.parametrize(
    ("earlier", "minutes"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (7, 30), (10**9, 30)]
)
def test_wait_doubles_with_each_remediation_in_a_row_up_to_the_limit(earlier: int, minutes: int) -> None:
    assert delay(earlier, LIMIT) == minutes * MINUTE


@pytest.mark.rule("rule 14/limit")
@given(st.integers(0, 10**6))
def test_limit_of_zero_waits_for_nothing(earlier: int) -> None:
    assert delay(earlier, timedelta()) == timedelta()


@given(st.integers(0, 100), LIMITS)
def test_wait_never_shrinks_and_never_exceeds_the_limit(earlier: int, limit: timedelta) -> None:
    waits = [delay(count, limit) for count in range(earlier + 1)]

    assert all(one <= next_ for one, next_ in pairwise(waits))
    assert max(waits) <= limit


def test_target_without_an_earlier_remediation_does_not_wait() -> None:
    assert RemediationBackOff(LIMIT).hold(NOW, NOW) is None
    assert RemediationBackOff(LIMIT).earlier(NOW) == 0


@pytest.mark.rule("rule 14")
@pytest.mark.parametrize(
    ("number", "message", "seconds"),
    [
        (1, "2nd remediation in a row, due at 2026-03-01T12:01:00Z", 50),
        (2, "3rd remediation in a row, due at 2026-03-01T12:02:00Z", 110),
        (3, "4th remediation in a row, due at 2026-03-01T12:04:00Z", 230),
        (10, "11th remediation in a row, due at 2026-03-01T12:30:00Z", 1790),
        (21, "22nd remediation in a row, due at 2026-03-01T12:30:00Z", 1790),
    ],
)
def test_hold_says_which_one_in_a_row_it_is_and_when_it_is_due(
    number: int, message: str, seconds: float
) -> None:
    hold = back_off(number).hold(NOW + 5 * SECOND, NOW + 10 * SECOND)

    assert hold is not None
    assert (hold.reason, hold.message, hold.ask_again_seconds) == (HoldReason.BACK_OFF, message, seconds)


@pytest.mark.rule("rule 14")
def test_target_is_held_until_its_time_and_not_an_instant_longer() -> None:
    last = NOW + MINUTE - timedelta(microseconds=1)

    assert back_off(1).hold(NOW, last) is not None
    assert back_off(1).hold(NOW, NOW + MINUTE) is None


@pytest.mark.rule("rule 14/limit")
def test_limit_of_zero_turns_it_off_even_where_nothing_is_known() -> None:
    assert RemediationBackOff(timedelta(), unread="not read yet").hold(NOW, NOW) is None
    assert back_off(7, limit=timedelta()).hold(NOW, NOW) is None


@pytest.mark.rule("rule 3", "rule 14")
def test_unknown_attempts_hold_with_their_reason() -> None:
    hold = RemediationBackOff(LIMIT, unread="not read yet").hold(NOW, NOW)

    assert hold is not None
    assert (hold.reason, hold.message) == (HoldReason.BACK_OFF, "not read yet")
    assert hold.ask_again_seconds == 10


@pytest.mark.rule("rule 14/reset")
@pytest.mark.parametrize(
    ("healthy", "earlier"),
    [
        pytest.param(timedelta(), 3, id="fails at once"),
        pytest.param(LIMIT - SECOND, 3, id="healthy for nearly the limit"),
        pytest.param(LIMIT, 0, id="healthy for the limit"),
    ],
)
def test_count_begins_anew_after_a_healthy_period_as_long_as_the_limit(
    healthy: timedelta, earlier: int
) -> None:
    assert back_off(3).earlier(NOW + healthy) == earlier


@pytest.mark.rule("rule 14")
@pytest.mark.parametrize(
    ("failed", "earlier"),
    [
        pytest.param(-6 * MINUTE, 0, id="the failure that the request was made for goes on"),
        pytest.param(-5 * MINUTE, 0, id="as old as the request, to the second"),
        pytest.param(-1 * SECOND, 2, id="failed again before the request was gone"),
        pytest.param(SECOND, 2, id="failed again afterwards"),
    ],
)
def test_loss_in_the_middle_of_a_failure_is_no_earlier_incident(failed: timedelta, earlier: int) -> None:
    assert back_off(2, requested=5 * MINUTE).earlier(NOW + failed) == earlier


@given(
    number=st.integers(1, 50),
    limit=LIMITS,
    failed=st.timedeltas(timedelta(hours=-2), timedelta(hours=2)),
    passed=st.timedeltas(timedelta(), timedelta(hours=2)),
)
def test_target_that_asks_again_when_the_hold_says_so_is_admitted(
    number: int, limit: timedelta, failed: timedelta, passed: timedelta
) -> None:
    known, now = back_off(number, limit=limit), NOW + passed
    hold = known.hold(NOW + failed, now)

    assert hold is None or 0 < hold.ask_again_seconds <= limit.total_seconds()
    assert hold is None or known.hold(NOW + failed, now + timedelta(seconds=hold.ask_again_seconds)) is None
