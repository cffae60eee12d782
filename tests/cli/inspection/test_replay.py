"""Recorded incidents under other thresholds, windows and limits."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.inspection.replay import CheckRules, PastIncident, ReplayRules, replay
from cli.inspection.simulation_view import ReplayedView, ReplayView
from health.check.threshold import Allowance
from health.policy.limits import HOUR, NO_LIMITS, Limits
from health.policy.maintenance_windows import Closed

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CHECK, OTHER = "NodeHealthCheck/workers", "NodeHealthCheck/others"
TARGETS = 5


def at(minutes: float) -> datetime:
    return NOON + minutes * MINUTE


def failure(target: str, failed: float, ended: float | None, check: str = CHECK) -> PastIncident:
    return PastIncident(
        check=check, target=target, failed=at(failed), ended=None if ended is None else at(ended)
    )


def of_check(most: int = TARGETS, limits: Limits = NO_LIMITS, opens: datetime | None = None) -> CheckRules:
    def allowance(unhealthy: int) -> Allowance:
        return Allowance.of_required(TARGETS - most, total=TARGETS, healthy=TARGETS - unhealthy)

    def closed(time: datetime) -> Closed | None:
        return Closed("closed", opens, time) if opens is not None and time < opens else None

    return CheckRules(duration=5 * MINUTE, allowance=allowance, closed=closed, limits=limits)


def rules(
    own: CheckRules | None = None, limits: Limits = NO_LIMITS, other: CheckRules | None = None
) -> ReplayRules:
    of_checks = {CHECK: own or of_check()} | ({OTHER: other} if other else {})
    return ReplayRules(of_checks=of_checks, limits=limits, now=at(10_000))


def told(past: list[PastIncident], by: ReplayRules) -> list[tuple[str, float | None, str]]:
    """Target, minute of its remediation and first hold of each incident."""
    return [
        (
            start.incident.target,
            None if start.remediated is None else (start.remediated - NOON) / MINUTE,
            start.held_by,
        )
        for start in replay(past, by)
    ]


def test_a_target_that_recovers_before_it_is_due_is_neither_remediated_nor_held() -> None:
    assert told([failure("a", 0, 4)], rules()) == [("a", None, "")]


def test_an_open_incident_that_is_not_due_yet_is_not_counted_as_recovered() -> None:
    past = [failure("a", 0, 4), failure("b", 9_999, None), failure("c", 9_990, None)]
    view = ReplayView(since=NOON, incidents=tuple(map(ReplayedView.of, replay(past, rules()))))
    assert view.words == (
        "3 incidents since 2026-03-01 12:00:00Z: 1 would have been remediated, "
        "1 recovered before the duration was over, 1 not due yet"
    )


def test_replay_counts_only_what_there_is_and_one_incident_is_no_plural() -> None:
    one = tuple(map(ReplayedView.of, replay([failure("a", 0, 4)], rules())))
    assert ReplayView(since=NOON, incidents=one).words.startswith("1 incident since 2026-03-01 12:00:00Z: 1 ")
    assert ReplayView(since=NOON, incidents=()).words == "no incident since 2026-03-01 12:00:00Z"


def test_a_target_is_remediated_when_its_duration_is_over() -> None:
    assert told([failure("a", 0, 30)], rules()) == [("a", 5, "")]


def test_an_open_incident_that_is_not_due_yet_is_not_remediated() -> None:
    soon = ReplayRules(of_checks={CHECK: of_check()}, limits=NO_LIMITS, now=at(3))
    assert told([failure("a", 0, None)], soon) == [("a", None, "")]


def test_the_threshold_holds_until_another_target_is_healthy_again() -> None:
    past = [failure("a", 0, 20), failure("b", 1, 40)]
    held = "Threshold: 2 of 5 unhealthy, at most 1 allowed"
    assert told(past, rules(of_check(most=1))) == [("a", None, held), ("b", 20, held)]


def test_the_targets_of_another_check_do_not_count_for_a_threshold() -> None:
    past = [failure("a", 0, 20), failure("b", 1, 40, OTHER)]
    assert told(past, rules(of_check(most=1), other=of_check(most=1))) == [("a", 5, ""), ("b", 6, "")]


def test_a_window_holds_until_it_opens() -> None:
    past = [failure("a", 0, 90), failure("b", 0, 50)]
    held = "MaintenanceWindow: closed"
    assert told(past, rules(of_check(opens=at(60)))) == [("a", 60, held), ("b", None, held)]


@pytest.mark.parametrize("is_policy", [True, False])
def test_a_limit_in_flight_holds_until_a_target_is_healthy_again(*, is_policy: bool) -> None:
    one = Limits.model_validate({"maxInFlight": 1})
    by = rules(limits=one) if is_policy else rules(of_check(limits=one))
    held = "Limit: 1 in flight, at most 1 allowed"
    assert told([failure("a", 0, 20), failure("b", 0, 40)], by) == [("a", 5, ""), ("b", 20, held)]


def test_the_limit_of_the_policy_counts_the_targets_of_all_checks() -> None:
    past = [failure("a", 0, 20), failure("b", 0, 40, OTHER)]
    by = rules(limits=Limits.model_validate({"maxInFlight": 1}), other=of_check())
    assert [start.held_by for start in replay(past, by) if start.held_by] == [
        "Limit: 1 in flight, at most 1 allowed"
    ]


def test_a_limit_of_starts_holds_until_the_first_start_leaves_the_hour() -> None:
    by = rules(limits=Limits.model_validate({"maxStartsPerHour": 1}))
    held = "Limit: 1 begun within an hour, at most 1 allowed"
    assert told([failure("a", 0, 20), failure("b", 1, 400)], by) == [("a", 5, ""), ("b", 65, held)]


def test_an_incident_of_a_check_without_rules_is_left_out() -> None:
    assert replay([failure("a", 0, 20, OTHER)], rules()) == []


minutes = st.integers(min_value=0, max_value=300)
failures = st.builds(
    lambda number, check, failed, lasted: failure(
        f"node-{number}", failed, None if lasted is None else failed + lasted, check
    ),
    st.integers(0, 8),
    st.sampled_from([CHECK, OTHER]),
    minutes,
    st.none() | st.integers(1, 200),
)


@given(
    past=st.lists(failures, max_size=12),
    most=st.integers(0, TARGETS),
    in_flight=st.none() | st.integers(1, 3),
    starts=st.none() | st.integers(1, 3),
)
def test_no_remediation_begins_above_the_threshold_or_a_limit(
    past: list[PastIncident], most: int, in_flight: int | None, starts: int | None
) -> None:
    limits = Limits.model_validate({"maxInFlight": in_flight, "maxStartsPerHour": starts})
    replayed = replay(past, rules(of_check(most), limits, of_check(most)))
    begun = [(one.incident, one.remediated) for one in replayed if one.remediated is not None]
    for incident, time in begun:
        assert time >= incident.failed + 5 * MINUTE
        assert incident.lasts_at(time)
        assert sum(previous.check == incident.check and previous.lasts_at(time) for previous in past) <= most
        flying = [one for one, start in begun if start <= time and one.lasts_at(time)]
        assert in_flight is None or len(flying) <= in_flight
        started = [start for _, start in begun if time - HOUR < start <= time]
        assert starts is None or len(started) <= starts
