"""What is said of somebody else who writes the status of a check."""

from datetime import timedelta

import pytest

from cli.doctor.of_checks import writer_finding
from health.model.status_writers import StatusWriter
from tests.objects import NOW

STOP = "stop it, two controllers would remediate the same targets"


def said(writer: StatusWriter, watched_seconds: float = 0) -> str:
    name = "MachineHealthCheck openshift-machine-api/workers"
    return str(writer_finding(name, writer, timedelta(seconds=watched_seconds)))


def test_controller_that_still_writes_the_status_is_named_with_the_time() -> None:
    assert said(StatusWriter("machine-healthcheck", NOW, is_over=False), 6) == (
        "warning: 'machine-healthcheck' is still writing the status of MachineHealthCheck "
        f"openshift-machine-api/workers (last at 2026-03-01T12:00:00Z): {STOP}"
    )


@pytest.mark.parametrize(
    ("seen", "watched_seconds", "words"),
    [
        (1, 0.02, "seen once in 1s"),
        (3, 6.02, "seen 3 times in 6s"),
        (2, 1.9, "seen 2 times in 2s"),
        (40, 90, "seen 40 times in 1m30s"),
    ],
)
def test_controller_that_was_seen_writing_is_named_with_how_often(
    seen: int, watched_seconds: float, words: str
) -> None:
    assert said(StatusWriter("machine-healthcheck", NOW, is_over=False, seen=seen), watched_seconds) == (
        "warning: 'machine-healthcheck' is still writing the status of MachineHealthCheck "
        f"openshift-machine-api/workers ({words}, last at 2026-03-01T12:00:00Z): {STOP}"
    )


def test_controller_after_which_we_wrote_may_be_stopped_already() -> None:
    assert said(StatusWriter("manager", NOW - timedelta(minutes=9), is_over=True)) == (
        "warning: 'manager' wrote the status of MachineHealthCheck openshift-machine-api/workers within the "
        "last hour (last at 2026-03-01T11:51:00Z), and we did since: make sure that it is stopped, two "
        "controllers would remediate the same targets"
    )
