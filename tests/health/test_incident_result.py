"""The result of an incident: each request once, and the time from a failure to its request by parts."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.incident_result import MOST_RECORDS, RequestRecord, ended, recorded
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderRecord
from health.model.verdict import Fact
from health.runbook.memory_parts import Delays, Part, RequestDelay
from health.runbook.state import Memory
from tests.support.values.builders import FIRST, NOW, SECOND, request_of, request_snapshot

ONE, OTHER = request_of(FIRST), request_of(SECOND)
LATER = NOW + timedelta(minutes=7)


def test_request_that_appears_is_recorded_with_its_template_and_its_creation() -> None:
    (record,) = recorded((), [ONE], {ONE.uid}, LATER)
    assert record == RequestRecord(
        request="Reboot/remediators/node-1", uid=ONE.uid, template="reboot", started=NOW
    )


def test_request_that_is_gone_ends_when_that_is_seen_and_keeps_its_end() -> None:
    first = recorded((), [ONE, OTHER], set(), NOW)
    second = recorded(first, [OTHER], set(), LATER)
    assert [record.ended for record in second] == [LATER, None]
    assert recorded(second, [OTHER], set(), LATER + timedelta(hours=1)) == second


def test_request_that_is_known_and_not_seen_is_there() -> None:
    records = recorded((), [ONE], {ONE.uid}, NOW)
    assert recorded(records, [], {ONE.uid}, LATER) == records


def test_all_end_with_the_incident() -> None:
    records = recorded((), [ONE, OTHER], set(), NOW)
    assert [record.ended for record in ended(records, LATER)] == [LATER, LATER]


@given(looks=st.lists(st.sets(st.integers(0, 5)), max_size=20))
def test_each_request_has_one_record_whatever_is_seen_of_it(looks: list[set[int]]) -> None:
    records: tuple[RequestRecord, ...] = ()
    for number, look in enumerate(looks):
        shown = [request_snapshot(f"request-{step}") for step in sorted(look)]
        records = recorded(records, shown, set(), NOW + timedelta(minutes=number))
        assert {request.uid for request in shown} <= {record.uid for record in records}
    assert len({record.uid for record in records}) == len(records)
    last = looks[-1] if looks else set()
    assert {record.uid for record in records if record.ended is None} <= {f"request-{step}" for step in last}


def test_only_the_latest_are_kept() -> None:
    records: tuple[RequestRecord, ...] = ()
    memory = Memory()
    for number in range(MOST_RECORDS + 3):
        records = recorded(records, [request_snapshot(f"request-{number}")], set(), NOW)
        memory = memory.with_order(OrderRecord(order="hold", reason=str(number), given=NOW), stands=True)
    assert len(records) == len(memory.orders) == MOST_RECORDS
    assert records[-1].uid == f"request-{MOST_RECORDS + 2}"
    assert [memory.orders[0].reason, memory.orders[-1].reason] == ["3", str(MOST_RECORDS + 2)]


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
