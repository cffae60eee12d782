"""When a remediation gives the Lease of its target back."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.references import Step
from health.model.request_snapshot import RequestSnapshot
from health.runbook.escalation import Plan, lease_duration
from health.runbook.incident import becomes_overdue_at
from health.runbook.memory_parts import LeaseMemory
from health.runbook.state import Memory
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    MINUTE,
    NOW,
    SECOND,
    THIRD,
    request_of,
    seen,
)


def overdue_at(
    plan: Plan,
    latest: RequestSnapshot,
    acquired: datetime | None,
    duration: timedelta,
    made_under: datetime | None = None,
) -> datetime:
    lease = LeaseMemory(
        duration_seconds=duration.total_seconds(), acquired_at=acquired, request_acquired_at=made_under
    )
    overdue = becomes_overdue_at(seen(latest, steps=tuple(plan.steps)), Memory(lease=lease))
    assert overdue is not None
    return overdue


MOMENTS = st.integers(0, 10_000).map(lambda seconds: timedelta(seconds=seconds))


@pytest.mark.rule("NHC 2.5/overdue", "rule 13/overdue")
def test_classic_remediation_is_overdue_thirty_minutes_after_its_lease_was_taken() -> None:
    latest = request_of(CLASSIC[0])
    acquired = NOW - timedelta(milliseconds=20)
    late = overdue_at(Plan(CLASSIC), latest, acquired, 10 * MINUTE, made_under=acquired)
    assert late == NOW + 30 * MINUTE


@pytest.mark.rule("NHC 2.5/overdue")
@pytest.mark.parametrize(
    ("step", "minutes"),
    [
        pytest.param(FIRST, 3 * 5, id="first"),
        pytest.param(SECOND, 3 * 2 + 5, id="second"),
        pytest.param(THIRD, 3 * 10 + 7, id="third"),
    ],
)
def test_step_has_three_durations_and_the_timeouts_before_it(step: Step, minutes: int) -> None:
    before = Plan(ESCALATION).time_before(step)
    latest = request_of(step)
    late = overdue_at(Plan(ESCALATION), latest, NOW - before, lease_duration(step))
    assert late == NOW - before + minutes * MINUTE


@pytest.mark.rule("rule 39")
def test_without_a_known_lease_it_counts_from_the_creation_of_the_request() -> None:
    assert overdue_at(Plan(ESCALATION), request_of(SECOND), None, 2 * MINUTE) == NOW + 6 * MINUTE


@pytest.mark.rule("rule 10/steps")
def test_request_of_a_template_that_is_no_longer_listed_keeps_the_duration_of_its_lease() -> None:
    assert overdue_at(Plan((FIRST,)), request_of(THIRD), NOW, 60 * MINUTE) == NOW + 180 * MINUTE


@pytest.mark.rule("rule 9")
def test_request_that_was_made_anew_does_not_pay_for_the_one_that_was_deleted() -> None:
    acquired, latest = NOW - 29 * MINUTE, request_of(CLASSIC[0])
    late = overdue_at(Plan(CLASSIC), latest, acquired, 10 * MINUTE, made_under=acquired)
    assert late == NOW + 30 * MINUTE


@pytest.mark.rule("NHC 2.5/overdue", "rule 39")
@pytest.mark.parametrize("made_under", [None, NOW], ids=["it was found", "the Lease was rewritten"])
def test_request_counts_by_the_lease_alone(made_under: datetime | None) -> None:
    acquired, latest = NOW - 29 * MINUTE, request_of(CLASSIC[0])
    late = overdue_at(Plan(CLASSIC), latest, acquired, 10 * MINUTE, made_under=made_under)
    assert late == NOW + MINUTE


@given(step=st.sampled_from(ESCALATION), age=MOMENTS, held=MOMENTS)
def test_every_request_that_was_made_has_at_least_three_durations(
    step: Step, age: timedelta, held: timedelta
) -> None:
    latest, duration = request_of(step, age), lease_duration(step)
    acquired = latest.created - held
    late = overdue_at(Plan(ESCALATION), latest, acquired, duration, made_under=acquired)
    assert late >= latest.created + 3 * duration


@given(age=MOMENTS, held=MOMENTS)
def test_step_that_began_early_still_has_the_time_of_the_steps_before(
    age: timedelta, held: timedelta
) -> None:
    latest = request_of(SECOND, age)
    acquired = latest.created - held
    late = overdue_at(Plan(ESCALATION), latest, acquired, 2 * MINUTE, made_under=acquired)
    assert late >= acquired + 3 * 2 * MINUTE + 5 * MINUTE
