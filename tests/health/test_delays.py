"""The time from a failure to its request, by its parts."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.verdict import Fact
from health.runbook.memory_parts import Delays, Part, RequestDelay

FAILED = datetime(2026, 1, 1, tzinfo=UTC)
DEADLINE = FAILED + timedelta(minutes=5)
FACT = Fact(condition="Ready", status="Unknown", since=FAILED)
LIMIT, WINDOW, NO_ADMISSION = (
    Hold(reason=reason, message="")
    for reason in (HoldReason.LIMIT, HoldReason.MAINTENANCE_WINDOW, HoldReason.NO_ADMISSION)
)


def at(minutes: float) -> datetime:
    return FAILED + timedelta(minutes=minutes)


def seen(
    hold: Hold | None = None, state: TargetState = TargetState.EXPIRED, fact: Fact = FACT
) -> Observation:
    return Observation(state=state, reason="", fact=fact, deadline=DEADLINE, hold=hold)


def after(*looks: tuple[float, Observation], is_blocked: bool = False, is_first: bool = True) -> Delays:
    """The delays after observations at these minutes since the failure."""
    delays = Delays()
    for minutes, observation in looks:
        delays = delays.observed(
            observation, at(minutes), is_blocked=is_blocked, is_before_the_first_step=is_first
        )
    return delays


def parts(delays: Delays, minutes: float) -> tuple[float, ...]:
    """The minutes of wait, hold, queue and act, if the request was made then."""
    delay = delays.before_act(at(minutes))
    assert delay is not None
    found = delay.parts(at(minutes))
    assert [*found] == [Part.WAIT, Part.HOLD, Part.QUEUE, Part.ACT]
    return tuple(seconds / 60 for seconds in found.values())


WAITING = seen(WINDOW, TargetState.WAITING)


@pytest.mark.parametrize(
    ("looks", "requested", "expected"),
    [
        pytest.param([(0, WAITING), (5, seen())], 6, (5, 0, 0, 1), id="at-once"),
        pytest.param([(5, seen(WINDOW)), (15, seen())], 16, (5, 10, 0, 1), id="held"),
        pytest.param([(5, seen(LIMIT)), (25, seen())], 25, (5, 0, 20, 0), id="queued"),
        pytest.param([(5, seen(WINDOW)), (7, seen(LIMIT)), (10, seen())], 12, (5, 2, 3, 2), id="both"),
        pytest.param([(5, seen(LIMIT)), (7, seen(WINDOW))], 10, (5, 3, 2, 0), id="held-until-the-act"),
        pytest.param([(9, seen(NO_ADMISSION))], 10, (5, 0, 0, 5), id="nothing-asked-before"),
        pytest.param([(3, WAITING), (3, seen(WINDOW))], 6, (5, 1, 0, 0), id="hold-before-the-deadline"),
    ],
)
def test_parts_are_the_time_in_each_state(
    looks: list[tuple[float, Observation]], requested: float, expected: tuple[float, ...]
) -> None:
    assert parts(after(*looks), requested) == pytest.approx(expected)


def test_state_that_the_detector_cannot_tell_is_a_hold() -> None:
    unknown = Observation(
        state=TargetState.UNKNOWN, reason="", hold=Hold(reason=HoldReason.STALE_CACHE, message="")
    )
    assert parts(after((5, seen()), (6, unknown), (9, seen())), 10) == pytest.approx((5, 3, 0, 2))


def test_order_of_a_person_is_a_hold() -> None:
    assert parts(after((5, seen()), is_blocked=True), 8) == pytest.approx((5, 3, 0, 0))


def test_failure_after_a_recovery_counts_anew() -> None:
    again = FACT.model_copy(update={"since": at(20)})
    healthy = Observation(state=TargetState.HEALTHY, reason="")
    later = seen(fact=again).model_copy(update={"deadline": at(25)})
    assert parts(after((5, seen(WINDOW)), (15, healthy), (25, later)), 26) == pytest.approx((5, 0, 0, 1))


def test_failure_during_an_escalation_is_still_the_first_one() -> None:
    first = after((5, seen()))
    another = seen(fact=Fact(condition="DiskPressure", status="True", since=at(8)))
    later = first.observed(another, at(9), is_blocked=False, is_before_the_first_step=False)
    assert later.fact == FACT


def test_incident_without_a_failure_has_no_delay() -> None:
    assert Delays().before_act(at(1)) is None


@given(st.integers(-600, 6000), st.floats(-10, 1e5), st.floats(-10, 1e5), st.integers(-600, 100_000))
def test_parts_are_never_negative_and_their_sum_is_the_whole_time(
    wait: int, hold: float, queue: float, whole: int
) -> None:
    delay = RequestDelay(
        failed=FAILED,
        deadline=FAILED + timedelta(seconds=wait),
        hold_seconds=hold,
        queue_seconds=queue,
    )
    found = delay.parts(FAILED + timedelta(seconds=whole))
    assert min(found.values()) >= 0
    assert sum(found.values()) == pytest.approx(max(0, whole))
