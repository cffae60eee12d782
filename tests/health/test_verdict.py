"""The verdict of a check on one node at one moment (NHC 2.1/9)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.node import Node
from health.model.verdict import HEALTHY, Health, UnhealthyCondition, matches
from tests.support.values.builders import NOW, condition, node, verdict

pytestmark = pytest.mark.rule("NHC 2.1/9")

FIVE_MINUTES = timedelta(minutes=5)
NOT_READY = UnhealthyCondition(type="Ready", status="False", duration=FIVE_MINUTES)
UNKNOWN = UnhealthyCondition(type="Ready", status="Unknown", duration=FIVE_MINUTES)
FULL_DISK = UnhealthyCondition(type="DiskPressure", status="True", duration=timedelta(minutes=1))
RULES = (NOT_READY, UNKNOWN, FULL_DISK)
INSTANT = timedelta(microseconds=1)


def test_node_without_a_matching_condition_is_healthy() -> None:
    ready = node(condition("Ready", "True"), condition("DiskPressure", "False"))

    assert verdict(ready, RULES, NOW + timedelta(days=1)) == HEALTHY
    assert not matches(ready, RULES)


def test_condition_that_the_node_lacks_never_matches() -> None:
    assert verdict(node(), RULES, NOW) == HEALTHY


def test_check_without_conditions_finds_no_target_unhealthy() -> None:
    assert verdict(node(condition("Ready", "False")), (), NOW + timedelta(days=1)) == HEALTHY


def test_node_is_left_alone_while_its_condition_is_younger_than_the_duration() -> None:
    seen = verdict(node(condition("Ready", "False")), RULES, NOW + timedelta(minutes=4))

    assert seen.health is Health.WAITING
    assert seen.deadline == NOW + FIVE_MINUTES
    assert seen.reason == "Ready is False since 2026-03-01T12:00:00Z, waiting for 5m"


@pytest.mark.parametrize(
    ("after", "health"),
    [
        pytest.param(FIVE_MINUTES - INSTANT, Health.WAITING, id="an instant before"),
        pytest.param(FIVE_MINUTES, Health.WAITING, id="exactly then"),
        pytest.param(FIVE_MINUTES + INSTANT, Health.EXPIRED, id="an instant later"),
    ],
)
def test_condition_expires_strictly_after_its_duration(after: timedelta, health: Health) -> None:
    assert verdict(node(condition("Ready", "False")), RULES, NOW + after).health is health


def test_expired_verdict_names_condition_and_duration() -> None:
    seen = verdict(node(condition("Ready", "Unknown")), RULES, NOW + timedelta(hours=1))

    assert seen.reason == "Ready is Unknown since 2026-03-01T12:00:00Z, longer than 5m"
    assert seen.fact is not None
    assert (seen.fact.condition, seen.fact.status, seen.fact.since) == ("Ready", "Unknown", NOW)


def test_first_expired_condition_in_the_order_of_the_rules_counts() -> None:
    both = node(condition("DiskPressure", "True"), condition("Ready", "False"))
    late = NOW + timedelta(hours=1)

    assert str(verdict(both, (NOT_READY, FULL_DISK), late).fact).startswith("Ready")
    assert str(verdict(both, (FULL_DISK, NOT_READY), late).fact).startswith("DiskPressure")


def test_expired_condition_counts_before_one_that_only_waits() -> None:
    both = node(condition("Ready", "False"), condition("DiskPressure", "True"))
    seen = verdict(both, RULES, NOW + timedelta(minutes=2))

    assert seen.health is Health.EXPIRED
    assert str(seen.fact).startswith("DiskPressure")


def test_earliest_deadline_runs_the_timer() -> None:
    both = node(condition("Ready", "False"), condition("DiskPressure", "True"))

    for rules in (RULES, tuple(reversed(RULES))):
        assert verdict(both, rules, NOW).deadline == NOW + timedelta(minutes=1)


def test_change_of_status_restarts_the_clock() -> None:
    changed = NOW + timedelta(minutes=4)
    seen = verdict(node(condition("Ready", "Unknown", changed)), RULES, NOW + timedelta(minutes=6))

    assert seen.health is Health.WAITING
    assert seen.deadline == changed + FIVE_MINUTES


def test_condition_without_a_transition_time_is_as_old_as_its_node() -> None:
    created = NOW - timedelta(minutes=1)
    young = node(condition("Ready", "False", None), creationTimestamp=created.isoformat())

    assert verdict(young, RULES, NOW).deadline == created + FIVE_MINUTES


def test_zero_duration_expires_an_instant_after_the_transition() -> None:
    rules = (UnhealthyCondition(type="Ready", status="False", duration=timedelta()),)
    broken = node(condition("Ready", "False"))

    assert verdict(broken, rules, NOW).health is Health.WAITING
    assert verdict(broken, rules, NOW + INSTANT).health is Health.EXPIRED


def test_transition_in_the_future_waits_for_it_and_the_duration() -> None:
    seen = verdict(node(condition("Ready", "False", NOW + timedelta(hours=1))), RULES, NOW)

    assert seen.health is Health.WAITING
    assert seen.deadline == NOW + timedelta(hours=1) + FIVE_MINUTES


def test_transition_at_the_end_of_the_calendar_is_no_error() -> None:
    far = node(condition("Ready", "False", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)))
    seen = verdict(far, RULES, NOW)

    assert seen.health is Health.WAITING
    assert seen.deadline is not None
    assert seen.deadline > datetime(7999, 1, 1, tzinfo=UTC)


MOMENTS = st.integers(0, 7200).map(lambda seconds: NOW + timedelta(seconds=seconds))
STATUSES = st.sampled_from(["True", "False", "Unknown"])
TYPES = st.sampled_from(["Ready", "DiskPressure", "MemoryPressure"])
CONDITIONS = st.builds(condition, TYPES, STATUSES, MOMENTS)
NODES = st.lists(CONDITIONS, max_size=3, unique_by=lambda one: one["type"]).map(lambda some: node(*some))
DURATIONS = st.integers(0, 3600).map(lambda seconds: timedelta(seconds=seconds))
SOME_RULES = st.lists(
    st.builds(UnhealthyCondition, type=TYPES, status=STATUSES, duration=DURATIONS), max_size=4
)


@given(target=NODES, rules=SOME_RULES, one=MOMENTS, other=MOMENTS)
def test_with_time_alone_a_verdict_can_only_expire(
    target: Node, rules: list[UnhealthyCondition], one: datetime, other: datetime
) -> None:
    before, after = (verdict(target, rules, moment) for moment in sorted((one, other)))

    assert (before.health, after.health) in {
        (Health.HEALTHY, Health.HEALTHY),
        (Health.WAITING, Health.WAITING),
        (Health.WAITING, Health.EXPIRED),
        (Health.EXPIRED, Health.EXPIRED),
    }


@given(target=NODES, rules=SOME_RULES, now=MOMENTS)
def test_deadline_is_since_and_duration_of_a_rule_that_matches(
    target: Node, rules: list[UnhealthyCondition], now: datetime
) -> None:
    seen = verdict(target, rules, now)

    assert bool(matches(target, rules)) == (seen.health is not Health.HEALTHY)
    if seen.fact is None or seen.deadline is None:
        assert seen == HEALTHY
        return
    durations = [r.duration for r in rules if (r.type, r.status) == (seen.fact.condition, seen.fact.status)]
    assert seen.deadline - seen.fact.since in durations
    assert (now > seen.deadline) == (seen.health is Health.EXPIRED)


@given(target=NODES, rules=SOME_RULES, now=MOMENTS)
def test_timer_that_ran_out_makes_the_verdict_expire(
    target: Node, rules: list[UnhealthyCondition], now: datetime
) -> None:
    seen = verdict(target, rules, now)

    if seen.health is Health.WAITING and seen.deadline is not None:
        assert verdict(target, rules, seen.deadline + INSTANT).health is Health.EXPIRED
        assert verdict(target, rules, seen.deadline).health is Health.WAITING
