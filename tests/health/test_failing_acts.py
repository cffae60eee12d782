"""Acts that fail again and again: how the waits between them grow, and what ends a row."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.gate.admission import answered
from health.model.moves import Phase, TakeStep, Wait
from health.model.observation import Hold, HoldReason, failed
from health.runbook.decide import next_move
from health.runbook.failures import FailingActs, after_failure, lasts
from health.runbook.state import Memory
from tests.support.values.builders import NOW, seen
from tests.support.values.memories import HELD_LEASE, timer_of

SEEN = seen(generation=1, templates="t-1")
AWAY = failed("the API server is away")
FORBIDDEN = Hold(reason=HoldReason.REFUSED, message="403", ask_again_seconds=1.5)
INVALID = Hold(reason=HoldReason.REFUSED, message="422", ask_again_seconds=60)
SPREADS = st.floats(0, 1)


def row(hold: Hold, times: int, spread: float = 0) -> list[float]:
    """The waits of so many acts that were held by `hold`, in seconds."""
    failing: FailingActs | None = None
    now, waits = NOW, list[float]()
    for _ in range(times):
        failing = after_failure(failing, hold, SEEN, now, spread)
        assert failing is not None
        waits.append((failing.next_act - now).total_seconds())
        now = failing.next_act
    return waits


@pytest.mark.parametrize(
    ("hold", "waits"),
    [
        pytest.param(AWAY, [5, 10, 20, 40, 80, 160, 300, 300], id="failed"),
        pytest.param(FORBIDDEN, [1.5, 5, 10, 20, 40, 80, 160, 300], id="403"),
        pytest.param(INVALID, [60, 60, 60, 60, 60, 80, 160, 300], id="refused for good"),
    ],
)
def test_waits_grow_to_five_minutes(hold: Hold, waits: list[float]) -> None:
    assert row(hold, len(waits)) == waits


def test_no_more_than_six_acts_are_made_in_two_and_a_half_minutes() -> None:
    for hold in (AWAY, FORBIDDEN, INVALID):
        moments = [sum(row(hold, 10)[:number]) for number in range(10)]
        assert len([moment for moment in moments if moment <= 150]) <= 6


@given(times=st.integers(1, 60), spread=SPREADS, told=st.floats(0, 1e9))
def test_wait_is_spread_upwards_by_a_fifth_at_most(times: int, spread: float, told: float) -> None:
    hold = AWAY.model_copy(update={"ask_again_seconds": told})
    (*_, least), (*_, wait) = row(hold, times), row(hold, times, spread)
    assert least <= wait <= 1.2 * least + 1e-6
    assert min(told, 300) <= wait <= 360


@pytest.mark.parametrize("reason", HoldReason)
def test_only_what_failed_begins_a_row(reason: HoldReason) -> None:
    failing = after_failure(None, Hold(reason=reason, message=""), SEEN, NOW, 0)
    own = (HoldReason.FAILED, HoldReason.REFUSED, HoldReason.STALE_FACTS, HoldReason.NOT_TRUE)
    is_failure = reason in own
    assert (failing is not None) == is_failure


def test_403_after_other_failures_is_tried_again_within_seconds() -> None:
    broken = _third()
    refused = after_failure(broken, FORBIDDEN, SEEN, NOW, 0)
    assert refused is not None
    assert refused.next_act - NOW == timedelta(seconds=1.5)


@pytest.mark.parametrize("change", [{"generation": 2}, {"templates": "t-2"}])
def test_edit_of_the_check_or_of_a_template_ends_the_row(change: dict[str, object]) -> None:
    failing = _third()
    memory = Memory(lease=HELD_LEASE, failing=failing)
    edited = SEEN.model_copy(update=change)
    assert isinstance(next_move(SEEN, memory, NOW), Wait)
    assert isinstance(next_move(edited, memory, NOW), TakeStep)
    again = after_failure(failing, AWAY, edited, NOW, 0)
    assert again is not None
    assert (again.count, again.since, again.next_act) == (1, NOW, NOW + timedelta(seconds=5))


def test_row_that_waits_says_why_how_often_and_until_when() -> None:
    result = next_move(SEEN, Memory(failing=_third()), NOW)
    assert isinstance(result, Wait)
    assert result.phase is Phase.HELD
    assert timer_of(result) == 20
    assert "the API server is away" in str(result.details)
    assert "(3 times in a row, the next attempt is due at 2026-03-01T12:00:20Z)" in str(result.details)
    assert result.details.held_since == _third().since


def test_act_is_made_when_its_wait_is_over() -> None:
    failing = _third()
    assert isinstance(next_move(SEEN, Memory(failing=failing), failing.next_act), TakeStep)


@pytest.mark.rule("rule 49")
def test_incident_that_backs_off_after_failed_acts_asks_no_sooner_where_a_limit_is_reached() -> None:
    failing = _third()
    memory = Memory(failing=failing)
    full = Hold(reason=HoldReason.LIMIT, message="10 are under way", ask_again_seconds=1800)
    limited = SEEN.model_copy(update={"hold": full, "admission": None})

    def move(now: datetime) -> Wait:
        answer = answered(limited, memory.intent(now), lambda: full)
        result = next_move(answer, memory, now)
        assert isinstance(result, Wait)
        return result

    before = failing.next_act - timedelta(seconds=1)
    assert move(NOW).requeue_after(NOW) == failing.next_act - NOW
    assert move(before).requeue_after(before) == timedelta(seconds=1)
    assert move(failing.next_act).requeue_after(failing.next_act) == timedelta(minutes=30)


@pytest.mark.rule("rule 47/403")
@pytest.mark.parametrize(("after", "is_reported"), [(0, False), (29.9, False), (30, True)])
def test_403_is_reported_once_it_has_lasted_half_a_minute(after: float, *, is_reported: bool) -> None:
    memory = _refused(Memory(), NOW)
    assert memory.found is None
    later = _refused(memory, NOW + timedelta(seconds=after))
    assert (later.found is not None) == is_reported
    assert lasts(later.failing, NOW + timedelta(seconds=after)) == is_reported


def test_other_error_than_403_is_reported_at_once() -> None:
    memory = Memory().having_failed_to_act(INVALID, SEEN, NOW, 0, is_forbidden=False)
    assert memory.found == INVALID


def _refused(memory: Memory, now: datetime) -> Memory:
    return memory.having_failed_to_act(FORBIDDEN, SEEN, now, 0, is_forbidden=True)


def _third() -> FailingActs:
    """The third failure in a row, just now."""
    failing: FailingActs | None = None
    for _ in range(3):
        failing = after_failure(failing, AWAY, SEEN, NOW, 0)
    assert failing is not None
    return failing
