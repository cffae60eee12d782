"""The standby detectors of a leader Lease that could lead, judged with the observer's own clock."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.candidates import Candidates, CandidateTimes, candidate_name
from kube.client import Client
from tests.kube.test_leader import Clock

TIMES = CandidateTimes(renewal=timedelta(seconds=10), steady=timedelta(seconds=15))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def candidates(client: Client, clock: Clock) -> Candidates:
    return Candidates(client, "leases", "leader", "me", times=TIMES, clock=clock)


def test_one_that_renews_is_fit_once_it_was_seen_for_some_time(candidates: Candidates, clock: Clock) -> None:
    candidates.note({"a": "1"})
    clock.seconds += 10
    candidates.note({"a": "2"})
    assert not candidates.is_one_fit
    clock.seconds += 5
    candidates.note({"a": "2"})
    assert candidates.is_one_fit


def test_one_that_never_changes_has_died(candidates: Candidates, clock: Clock) -> None:
    for _ in range(100):
        candidates.note({"a": "1"})
        clock.seconds += 2
    assert not candidates.is_one_fit


def test_one_that_renewed_and_stopped_counts_until_two_renewals_are_missing(
    candidates: Candidates, clock: Clock
) -> None:
    candidates.note({"a": "1"})
    clock.seconds += 15
    candidates.note({"a": "2"})
    clock.seconds += 25
    assert candidates.is_one_fit
    clock.seconds += 0.1
    assert not candidates.is_one_fit


def test_one_that_withdrew_is_not_fit_and_begins_anew(candidates: Candidates, clock: Clock) -> None:
    candidates.note({"a": "1"})
    clock.seconds += 15
    candidates.note({"a": "2"})
    assert candidates.is_one_fit
    candidates.note({})
    assert not candidates.is_one_fit
    candidates.note({"a": "3"})
    candidates.note({"a": "4"})
    assert not candidates.is_one_fit


def test_seen_candidates_are_forgotten(candidates: Candidates, clock: Clock) -> None:
    candidates.note({"a": "1"})
    clock.seconds += 15
    candidates.note({"a": "2"})
    candidates.forget()
    assert not candidates.is_one_fit


@given(identity=st.text())
def test_name_is_one_that_the_api_server_takes_whatever_the_identity(identity: str) -> None:
    name = candidate_name("paramedic-detector", identity)

    assert name.isascii()
    assert name.replace("-", "").isalnum()
    assert name == candidate_name("paramedic-detector", identity)
    assert name != candidate_name("paramedic-detector", f"{identity}2")
