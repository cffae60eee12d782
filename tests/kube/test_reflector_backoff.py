from datetime import timedelta
from statistics import mean

import pytest

from kube.errors import Expired, Forbidden, KubernetesError, NotFound, TooManyRequests, Unreachable
from kube.reflector_settings import ReflectorBackoff, Waits

FAULT = Unreachable("no")


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


def test_requests_under_a_lasting_fault_are_fewer_than_one_a_second() -> None:
    backoff = ReflectorBackoff(Waits)
    waited = sum((backoff.after(FAULT) for _ in range(100)), timedelta())

    assert waited > timedelta(seconds=100)


def test_waits_grow_up_to_their_limit() -> None:
    assert max(_nth_waits(FAULT, 2)) <= timedelta(seconds=8)
    late = _nth_waits(FAULT, 10)
    assert max(late) <= timedelta(seconds=30)
    assert mean(wait.total_seconds() for wait in late) > 10


def test_absent_kind_is_looked_for_every_few_seconds() -> None:
    assert max(_nth_waits(NotFound("no"), 10)) <= timedelta(seconds=15)


def test_missing_role_is_waited_for_long() -> None:
    assert set(_nth_waits(Forbidden("no"), 3)) == {timedelta(seconds=30)}


def test_server_that_starts_and_knows_no_roles_yet_is_asked_again_soon() -> None:
    backoff = ReflectorBackoff(Waits)
    for _ in range(10):
        backoff.after(FAULT)

    assert backoff.after(Forbidden("no")) <= timedelta(seconds=2)
    assert backoff.after(Forbidden("no")) <= timedelta(seconds=4)


def test_server_that_asks_for_time_gets_it() -> None:
    busy = TooManyRequests("no", retry_after=timedelta(seconds=7))

    assert min(_nth_waits(busy, 0)) >= timedelta(seconds=7)


def test_reset_begins_anew() -> None:
    backoff = ReflectorBackoff(Waits)
    for _ in range(10):
        backoff.after(FAULT)
    backoff.reset()

    assert backoff.after(FAULT) <= timedelta(seconds=2)


def test_server_that_is_there_again_is_not_waited_for_as_long_once_more() -> None:
    backoff = ReflectorBackoff(Waits)
    for _ in range(10):
        backoff.after(FAULT)

    assert backoff.after(Expired("no")) <= timedelta(seconds=2)


def test_waits_grow_while_each_watch_is_expired() -> None:
    backoff = ReflectorBackoff(Waits)
    waited = sum((backoff.after(Expired("no")) for _ in range(100)), timedelta())

    assert waited > timedelta(seconds=500)


@pytest.mark.parametrize("other", [FAULT, Expired("no"), NotFound("no")])
def test_waits_grow_while_a_server_alternates_between_403_and_another_error(other: KubernetesError) -> None:
    backoff = ReflectorBackoff(Waits)
    waited = sum(
        (backoff.after(error) for _ in range(100) for error in (Forbidden("no"), other)), timedelta()
    )

    assert waited > timedelta(seconds=1_500)


def test_reset_makes_the_next_403_of_a_starting_server_short_again() -> None:
    backoff = ReflectorBackoff(Waits)
    for _ in range(10):
        backoff.after(Forbidden("no"))
    backoff.reset()
    for _ in range(10):
        backoff.after(FAULT)

    assert backoff.after(Forbidden("no")) <= timedelta(seconds=2)


def test_requests_are_few_also_where_expiry_and_another_fault_take_turns() -> None:
    backoff = ReflectorBackoff(Waits)
    waited = sum((backoff.after(error) for _ in range(100) for error in (FAULT, Expired("no"))), timedelta())

    assert waited > timedelta(seconds=1_500)
