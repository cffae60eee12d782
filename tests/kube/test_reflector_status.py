import logging

import pytest

from kube.errors import Forbidden, Invalid, KubernetesError, NotFound, Unreachable
from kube.reflector_status import ReflectorState, ReflectorStatus


@pytest.fixture
def reflector_status() -> ReflectorStatus:
    return ReflectorStatus("widgets")


def test_nothing_is_wrong_at_the_start(reflector_status: ReflectorStatus) -> None:
    assert (reflector_status.state, reflector_status.problem, reflector_status.synced) == (
        ReflectorState.STARTING,
        "",
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
