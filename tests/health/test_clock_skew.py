"""Which clock skew of the detector makes its facts unusable."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.cluster.clock_skew import (
    HELD,
    STEADY,
    WARNED,
    ClockReading,
    by_temporals_clock,
    clock_hold,
    clock_warning,
    workload_clock_hold,
    workload_skew,
)
from health.model.observation import HoldReason, Observation, TargetState
from tests.support.values.builders import NOW, request_snapshot, seen

HAIR = timedelta(microseconds=1)
DURATIONS = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400))


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize(
    ("skew", "words"),
    [
        (seconds(40), "the detector's clock is 40s ahead of the API server's, more than 30s"),
        (seconds(-3700), "the detector's clock is 1h1m40s behind the API server's, more than 30s"),
    ],
)
def test_clock_that_is_off_by_more_than_half_a_minute_holds_with_the_number(
    skew: timedelta, words: str
) -> None:
    hold = clock_hold(ClockReading(skew))
    assert hold is not None
    assert (hold.reason, hold.message) == (HoldReason.CLOCK_SKEW, words)


@pytest.mark.parametrize("skew", [HELD, -HELD, WARNED + HAIR, -WARNED - HAIR])
def test_clock_that_is_off_by_more_than_five_seconds_is_a_warning(skew: timedelta) -> None:
    assert clock_hold(ClockReading(skew)) is None
    assert str(clock_warning(ClockReading(skew))).startswith("the detector's clock is ")


@pytest.mark.parametrize("skew", [None, timedelta(0), WARNED, -WARNED])
def test_clock_that_is_not_known_to_be_off_is_nothing_to_say(skew: timedelta | None) -> None:
    assert clock_hold(ClockReading(skew)) is None
    assert clock_warning(ClockReading(skew)) is None


@given(st.none() | DURATIONS | DURATIONS.map(lambda skew: -skew), DURATIONS)
def test_hold_is_always_a_warning_or_a_step_backwards(skew: timedelta | None, age: timedelta) -> None:
    reading = ClockReading(skew, age)
    assert clock_hold(reading) is None or clock_warning(reading)


def set_back(age: timedelta, compared: timedelta | None = timedelta(seconds=1)) -> ClockReading:
    return ClockReading(seconds(0), compared, seconds(12), age)


@pytest.mark.rule("rule 3")
def test_clock_that_was_set_back_holds_until_it_has_run_steadily() -> None:
    hold = clock_hold(set_back(seconds(5)))
    assert hold is not None
    assert hold.reason is HoldReason.CLOCK_SKEW
    words = "the detector's clock was set back by 12s, 5s ago, and has to run 30s steadily"
    assert hold.message == words

    assert clock_hold(set_back(STEADY - HAIR)) is not None
    assert clock_hold(set_back(STEADY)) is None


def test_clock_that_was_set_back_holds_until_an_answer_was_compared_with_it() -> None:
    assert clock_hold(set_back(seconds(60), compared=seconds(61))) is not None
    assert clock_hold(set_back(seconds(60), compared=seconds(59))) is None


def test_api_server_without_a_date_holds_no_target() -> None:
    assert clock_hold(set_back(seconds(60), compared=None)) is None


def test_clock_that_was_set_back_and_is_off_since_is_held_for_being_off() -> None:
    hold = clock_hold(ClockReading(seconds(-31), seconds(1), seconds(31), seconds(60)))
    assert hold is not None
    assert "behind" in hold.message


@pytest.mark.rule("rule 33/skew")
@pytest.mark.parametrize(
    ("known", "told", "skew"),
    [
        pytest.param(None, None, None, id="nothing is known"),
        pytest.param(HELD, None, None, id="as much as is tolerated"),
        pytest.param(HELD + HAIR, None, HELD + HAIR, id="too far ahead"),
        pytest.param(-HELD - HAIR, None, -HELD - HAIR, id="too far behind"),
        pytest.param(seconds(44), seconds(40), seconds(40), id="hardly more than was told"),
        pytest.param(seconds(46), seconds(40), seconds(46), id="more than was told"),
        pytest.param(None, seconds(40), seconds(40), id="not known for a moment"),
        pytest.param(HELD, seconds(31), None, id="right again"),
    ],
)
def test_clock_of_a_workload_cluster_keeps_its_reported_skew_until_it_moves(
    known: timedelta | None, told: timedelta | None, skew: timedelta | None
) -> None:
    assert workload_skew(known, told) == skew


@pytest.mark.rule("rule 33/skew")
def test_clock_of_a_workload_cluster_that_is_off_holds_with_the_number() -> None:
    hold = workload_clock_hold("fleet/edge", seconds(-360))
    words = (
        "the clock of the workload cluster fleet/edge is 6m behind the management cluster's, more than 30s"
    )
    assert (hold.reason, hold.message) == (HoldReason.CLOCK_SKEW, words)


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize(
    ("state", "proof_seconds"),
    [(TargetState.EXPIRED, 0), (TargetState.WAITING, 0), (TargetState.HEALTHY, 60)],
)
@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (seconds(420), "Temporal's clock is 7m ahead of the API server's, more than 30s"),
        (seconds(-31), "Temporal's clock is 31s behind the API server's, more than 30s"),
    ],
)
def test_no_step_is_over_by_a_clock_of_temporal_that_is_off(
    state: TargetState, proof_seconds: float, ahead: timedelta, words: str
) -> None:
    running = request_snapshot()
    answer = seen(running, state=state, proven_recovery_seconds=proof_seconds, seen_at=NOW, is_shadow=False)
    told = by_temporals_clock(answer, NOW + ahead)
    assert told.hold is not None
    assert (told.state, told.hold.reason) == (TargetState.UNKNOWN, HoldReason.CLOCK_SKEW)
    assert told.hold.message == words
    assert (told.requests, told.is_shadow) == ((running,), False)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(seen(seen_at=NOW - HELD), id="clocks are as good as equal"),
        pytest.param(seen(state=TargetState.HEALTHY, seen_at=NOW - 2 * HELD), id="healthy"),
        pytest.param(
            seen(
                request_snapshot(),
                state=TargetState.HEALTHY,
                proven_recovery_seconds=60,
                is_confirmed=True,
                seen_at=NOW - 2 * HELD,
            ),
            id="a person confirmed that it is healthy",
        ),
        pytest.param(seen(state=TargetState.GONE, seen_at=NOW - 2 * HELD), id="gone"),
        pytest.param(seen(seen_at=None), id="nobody says when it was seen"),
    ],
)
def test_fact_that_does_not_depend_on_temporals_clock_stays_as_it_is(answer: Observation) -> None:
    assert by_temporals_clock(answer, NOW) is answer
