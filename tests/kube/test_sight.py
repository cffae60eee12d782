import logging
from datetime import timedelta

import pytest

from kube.errors import Forbidden, NotFound, Unreachable
from kube.sight import Sight, State


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sight(clock: Clock) -> Sight:
    return Sight("widgets", clock)


def test_there_is_no_age_before_there_is_a_picture(sight: Sight) -> None:
    assert sight.age() is None
    assert sight.state is State.STARTING


def test_list_is_as_old_as_its_first_page(sight: Sight, clock: Clock) -> None:
    clock.seconds += 10
    sight.alive(since=103)

    assert sight.age() == timedelta(seconds=7)


def test_accepted_watch_is_a_proof_once_it_was_not_refused_for_a_second(sight: Sight, clock: Clock) -> None:
    sight.alive()
    clock.seconds += 50
    sight.accepted()

    clock.seconds += 0.5
    assert sight.age() == timedelta(seconds=50.5)
    clock.seconds += 0.5
    assert sight.age() == timedelta(seconds=1)


def test_watch_that_is_refused_in_its_first_line_proves_nothing(sight: Sight, clock: Clock) -> None:
    sight.alive()
    clock.seconds += 50
    sight.accepted()
    sight.expired()
    clock.seconds += 10

    assert sight.age() == timedelta(seconds=60)


def test_watches_that_say_nothing_prove_life_one_after_the_other(sight: Sight, clock: Clock) -> None:
    sight.alive()
    for _ in range(3):
        clock.seconds += 40
        sight.accepted()
    sight.waiting(Unreachable("gone"))

    assert sight.age() == timedelta(seconds=40)


def test_resource_version_that_is_too_old_proves_nothing_and_ends_an_older_problem(
    sight: Sight, clock: Clock
) -> None:
    sight.alive()
    sight.waiting(Unreachable("gone"))
    clock.seconds += 50
    sight.accepted()
    sight.waiting(Unreachable("gone again"))
    sight.expired()
    clock.seconds += 10

    assert sight.problem == ""
    assert sight.age() == timedelta(seconds=60)


def test_problem_is_logged_when_its_sort_changes(sight: Sight, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kube")
    for error in (Forbidden("no 1"), Forbidden("no 2"), Unreachable("gone 1"), Unreachable("gone 2")):
        sight.waiting(error)
    sight.accepted()
    sight.accepted()

    assert [record.getMessage() for record in caplog.records] == [
        "Not watching widgets: no 1",
        "Not watching widgets: gone 1",
        "Watching widgets again.",
    ]
    assert sight.problem == ""


def test_refusal_lasts_until_a_watch_is_accepted_or_the_kind_is_gone(sight: Sight) -> None:
    for end in (sight.accepted, lambda: sight.absent(NotFound("gone"))):
        assert not sight.is_forbidden
        sight.waiting(Forbidden("no"))
        sight.waiting(Unreachable("cut"))
        assert sight.is_forbidden
        end()
    assert not sight.is_forbidden
