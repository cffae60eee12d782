"""How long the requests of a target that is healthy again are kept."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.remediation_request import EVER, HEALTHY_DELAY, RemediationRequest
from health.runbook.incident import HealthyDelay
from tests.support.values.builders import NOW, request_snapshot

A_MOMENT = timedelta(microseconds=1)
SECONDS = st.floats(-1e9, 1e9, allow_nan=False)
SINCE = st.none() | st.integers(0, 10**8).map(lambda seconds: NOW - timedelta(seconds=seconds))


@pytest.mark.rule("NHC 2.6/none")
def test_without_a_delay_nothing_is_kept() -> None:
    assert not HealthyDelay(0).is_running(request_snapshot(), NOW)
    assert not HealthyDelay(0).keeps_requests


@pytest.mark.rule("NHC 2.6/positive")
@pytest.mark.parametrize(
    ("healthy", "is_kept"),
    [(timedelta(), True), (timedelta(seconds=120) - A_MOMENT, True), (timedelta(seconds=120), False)],
)
def test_request_is_kept_until_the_target_was_healthy_for_the_delay(
    healthy: timedelta, *, is_kept: bool
) -> None:
    request = request_snapshot(healthy_since=NOW - healthy)
    assert HealthyDelay(120).is_running(request, NOW) is is_kept
    assert HealthyDelay(120).remaining(request, NOW) == timedelta(seconds=120) - healthy


def test_request_without_a_stamp_is_kept_for_the_whole_delay() -> None:
    assert HealthyDelay(120).is_running(request_snapshot(), NOW)
    assert HealthyDelay(120).remaining(request_snapshot(), NOW) == timedelta(seconds=120)


@pytest.mark.rule("NHC 2.6/edited", "rule 10/edit")
def test_edited_delay_counts_from_the_same_recovery() -> None:
    request = request_snapshot(healthy_since=NOW - timedelta(seconds=60))
    assert HealthyDelay(120).remaining(request, NOW) == timedelta(seconds=60)
    assert HealthyDelay(600).remaining(request, NOW) == timedelta(seconds=540)
    assert not HealthyDelay(60).is_running(request, NOW)
    assert not HealthyDelay(0).is_running(request, NOW)
    assert HealthyDelay(-1).remaining(request, NOW) is None


@pytest.mark.rule("NHC 2.6/negative")
@given(since=SINCE, later=st.integers(0, 10**9))
def test_negative_delay_never_ends_by_itself(since: object, later: int) -> None:
    delay, request = HealthyDelay(-1), request_snapshot(healthy_since=since)
    assert delay.is_running(request, NOW + timedelta(seconds=later))
    assert delay.remaining(request, NOW) is None


@pytest.mark.rule("NHC 2.6/confirmed")
@given(seconds=SECONDS, since=SINCE)
def test_confirmation_of_a_person_ends_any_delay(seconds: float, since: object) -> None:
    assert not HealthyDelay(seconds, is_confirmed=True).is_running(request_snapshot(healthy_since=since), NOW)


@given(seconds=st.floats(0.001, 1e9), since=SINCE)
def test_delay_runs_while_time_remains(seconds: float, since: object) -> None:
    request = request_snapshot(healthy_since=since)
    remaining = HealthyDelay(seconds).remaining(request, NOW)
    assert remaining is not None
    assert HealthyDelay(seconds).is_running(request, NOW) is (remaining > timedelta())
    assert not HealthyDelay(seconds).is_running(
        request_snapshot(healthy_since=NOW), NOW + timedelta(seconds=seconds)
    )


@pytest.mark.rule("NHC 2.6/unreadable")
@pytest.mark.parametrize("text", ["yesterday", "", "2026-03-01", "2026-03-01T11:59:59", "12:00"])
def test_stamp_that_cannot_be_read_keeps_nothing(text: str) -> None:
    metadata = {
        "name": "node-1",
        "uid": "uid",
        "creationTimestamp": "2026-03-01T11:00:00Z",
        "annotations": {HEALTHY_DELAY: text},
    }
    request = RemediationRequest.model_validate({"metadata": metadata}).snapshot("example.com/v1", "Reboot")
    assert request.healthy_since == EVER
    assert not HealthyDelay(10**9).is_running(request, NOW)
    assert type(request).model_validate_json(request.model_dump_json()) == request


def test_delay_says_why_requests_are_kept() -> None:
    assert str(HealthyDelay(120)) == "healthyDelay of 2m"
    assert (
        str(HealthyDelay(-1)) == "healthyDelay is negative: kept until a person confirms that it is healthy"
    )
