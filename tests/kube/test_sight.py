import logging

import pytest

from kube.errors import Forbidden, NotFound, Unreachable
from kube.sight import Sight, State


@pytest.fixture
def sight() -> Sight:
    return Sight("widgets")


def test_nothing_is_wrong_at_the_start(sight: Sight) -> None:
    assert (sight.state, sight.problem, sight.synced) == (State.STARTING, "", False)


def test_resource_version_that_is_too_old_ends_an_older_problem(sight: Sight) -> None:
    sight.waiting(Unreachable("gone"))
    sight.expired()
    assert sight.problem == ""


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
