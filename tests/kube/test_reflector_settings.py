"""How patient a reflector is: its settings, its waits after failures, and its status."""

import logging
from datetime import timedelta
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.errors import Expired, Forbidden, Invalid, KubernetesError, NotFound, TooManyRequests, Unreachable
from kube.reflector_settings import ENDING, PATIENT, SHORTEST_LIMIT, ReflectorBackoff, Waits, Watching
from kube.reflector_status import ReflectorState, ReflectorStatus

LIMITS = st.timedeltas(min_value=SHORTEST_LIMIT, max_value=timedelta(hours=1))
BOOKMARK = timedelta(seconds=3.3)
"""How long after the read that is due the last bookmark of a watch comes: see ENDING."""


@pytest.mark.parametrize("limit", [30, 31, 60, 600])
def test_a_limit_of_half_a_minute_or_more_leaves_all_as_it_is(limit: int) -> None:
    assert PATIENT.proving_life_within(timedelta(seconds=limit)) == PATIENT


@given(LIMITS)
def test_quiet_kind_is_proven_fresh_within_the_limit(limit: timedelta) -> None:
    every = PATIENT.proving_life_within(limit).watching.proof_every
    assert every + BOOKMARK <= limit


@given(st.timedeltas(min_value=timedelta(seconds=20), max_value=timedelta(hours=1)))
def test_there_is_time_for_a_second_watch_where_the_first_proved_nothing(limit: timedelta) -> None:
    watching = PATIENT.proving_life_within(limit).watching
    assert watching.proof_every + ENDING + watching.lasting(timedelta(0)) < limit


@given(LIMITS)
def test_kind_that_is_not_served_is_asked_for_within_the_limit(limit: timedelta) -> None:
    assert PATIENT.proving_life_within(limit).waits.absent < limit


@given(
    st.timedeltas(min_value=timedelta(0), max_value=timedelta(minutes=10)),
    st.timedeltas(min_value=-timedelta(minutes=10), max_value=timedelta(minutes=10)),
)
def test_watch_ends_right_after_the_next_read_in_whole_seconds(every: timedelta, until: timedelta) -> None:
    watching = Watching(proof_every=every)
    lasting = watching.lasting(until)
    assert lasting % timedelta(seconds=1) == timedelta(0)
    assert ENDING <= lasting <= every + ENDING + timedelta(seconds=1)
    if timedelta(0) <= until <= every:
        assert ENDING <= lasting - until < ENDING + timedelta(seconds=1)
    assert watching.silent_for(lasting) <= max(watching.silence, lasting + ENDING)


FAULT, EXPIRED, FORBIDDEN = Unreachable("no"), Expired("no"), Forbidden("no")


def _nth_waits(error: KubernetesError, failures_before: int, samples: int = 300) -> list[timedelta]:
    waits = []
    for _ in range(samples):
        backoff = ReflectorBackoff(Waits)
        for _ in range(failures_before):
            backoff.after(error)
        waits.append(backoff.after(error))
    return waits


def test_first_wait_is_random_so_that_clients_do_not_come_back_together() -> None:
    waits = _nth_waits(Expired("no"), 0)

    assert max(waits) <= timedelta(seconds=2)
    assert max(waits) - min(waits) > timedelta(seconds=1)


def test_waits_grow_up_to_their_limit() -> None:
    assert max(_nth_waits(FAULT, 2)) <= timedelta(seconds=8)
    late = _nth_waits(FAULT, 10)
    assert max(late) <= timedelta(seconds=30)
    assert mean(wait.total_seconds() for wait in late) > 10


def test_absent_kind_is_looked_for_every_few_seconds() -> None:
    assert max(_nth_waits(NotFound("no"), 10)) <= timedelta(seconds=15)


def test_missing_role_is_waited_for_long() -> None:
    assert set(_nth_waits(Forbidden("no"), 3)) == {timedelta(seconds=30)}


def test_server_that_asks_for_time_gets_it() -> None:
    busy = TooManyRequests("no", retry_after=timedelta(seconds=7))

    assert min(_nth_waits(busy, 0)) >= timedelta(seconds=7)


@pytest.mark.parametrize(
    ("errors", "seconds"),
    [
        ([FAULT], 100),
        ([EXPIRED], 500),
        ([FAULT, EXPIRED], 1_500),
        ([FORBIDDEN, FAULT], 1_500),
        ([FORBIDDEN, EXPIRED], 1_500),
        ([FORBIDDEN, NotFound("no")], 1_500),
    ],
)
def test_requests_are_few_under_each_lasting_fault_and_where_two_take_turns(
    errors: list[KubernetesError], seconds: float
) -> None:
    backoff = ReflectorBackoff(Waits)
    waited = sum((backoff.after(error) for _ in range(100) for error in errors), timedelta())
    assert waited > timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("before", "is_reset", "then", "seconds"),
    [
        pytest.param([FAULT] * 10, False, [FORBIDDEN], 2, id="a server that starts and knows no roles yet"),
        pytest.param([FAULT] * 10, False, [FORBIDDEN] * 2, 4, id="and knows none a little later"),
        pytest.param([FAULT] * 10, False, [EXPIRED], 2, id="a server that is there again"),
        pytest.param([FAULT] * 10, True, [FAULT], 2, id="reset"),
        pytest.param([FORBIDDEN] * 10, True, [*[FAULT] * 10, FORBIDDEN], 2, id="reset before the next start"),
    ],
)
def test_waits_are_short_again(
    before: list[KubernetesError], then: list[KubernetesError], seconds: float, *, is_reset: bool
) -> None:
    backoff = ReflectorBackoff(Waits)
    for error in before:
        backoff.after(error)
    if is_reset:
        backoff.reset()
    *_, last = (backoff.after(error) for error in then)
    assert last <= timedelta(seconds=seconds)


@pytest.fixture
def reflector_status() -> ReflectorStatus:
    return ReflectorStatus("widgets")


def test_nothing_is_wrong_at_the_start(reflector_status: ReflectorStatus) -> None:
    assert (reflector_status.state, reflector_status.problem, reflector_status.synced) == (
        ReflectorState.STARTING,
        None,
        False,
    )


def test_resource_version_that_is_too_old_ends_an_older_problem(reflector_status: ReflectorStatus) -> None:
    reflector_status.waiting(Unreachable("gone"))
    reflector_status.expired()
    assert reflector_status.problem is None


def test_problem_is_logged_when_its_sort_changes(
    reflector_status: ReflectorStatus, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kube")
    for error in (Forbidden("no 1"), Forbidden("no 2"), Unreachable("gone 1"), Unreachable("gone 2")):
        reflector_status.waiting(error)
    reflector_status.accepted()
    reflector_status.accepted()

    assert [record.getMessage() for record in caplog.records] == [
        "Not watching widgets: no 1",
        "Not watching widgets: gone 1",
        "Watching widgets again.",
    ]
    assert reflector_status.problem is None


@pytest.mark.parametrize("refusal", [Forbidden("no"), Invalid("no")])
def test_refusal_lasts_until_a_watch_is_accepted_or_the_kind_is_gone(
    reflector_status: ReflectorStatus, refusal: KubernetesError
) -> None:
    for end in (reflector_status.accepted, lambda: reflector_status.absent(NotFound("gone"))):
        assert not reflector_status.is_refused
        reflector_status.waiting(refusal)
        reflector_status.waiting(Unreachable("cut"))
        assert reflector_status.is_refused
        end()
    assert not reflector_status.is_refused
