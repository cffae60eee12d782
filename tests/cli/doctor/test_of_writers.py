"""Findings about other writers of a check's status."""

from datetime import timedelta
from pathlib import Path

import pytest

from cli.doctor.finding import FindingSeverity
from cli.doctor.of_checks import STORED_CHECKS, StatusWatch, StatusWatched, writer_finding
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.status_writers import StatusFieldManager
from kube.listing import Paging, list_all
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, lines, said
from tests.support.values.builders import NOW

STOP = "stop it, two controllers would remediate the same targets"


def words_of(writer: StatusFieldManager, watched_seconds: float = 0) -> str:
    name = "MachineHealthCheck openshift-machine-api/workers"
    watched = StatusWatched(timedelta(seconds=watched_seconds), NOW)
    return str(writer_finding(MACHINE_HEALTH_CHECK, name, writer, watched))


def test_write_of_ten_minutes_ago_is_not_still_writing() -> None:
    """Nothing tells whether the controller has been stopped since."""
    ten = StatusFieldManager("machine-healthcheck", NOW - timedelta(minutes=10), is_over=False)
    assert words_of(ten, 6) == (
        "warning: 'machine-healthcheck' wrote the status of MachineHealthCheck openshift-machine-api/workers "
        "10m ago (last at 2026-03-01T11:50:00Z), and we did not since: make sure that it is stopped, two "
        "controllers would remediate the same targets"
    )


@pytest.mark.parametrize(("seen", "is_over"), [(3, False), (0, False), (0, True)])
def test_process_of_cluster_api_is_kept_off_and_never_stopped(
    seen: int,
    is_over: bool,  # noqa: FBT001  a column
) -> None:
    """The process cannot be stopped, because it also runs the MachineSets."""
    writer, watched = (
        StatusFieldManager("manager", NOW, is_over, seen),
        StatusWatched(timedelta(seconds=6), NOW),
    )
    found = writer_finding(CLUSTER_API_MACHINE_HEALTH_CHECK, "MachineHealthCheck fleet/a", writer, watched)
    assert found.severity is FindingSeverity.WARNING
    assert found.advice == (
        "keep its machinehealthchecks off by docs/cluster-api-switch.md#switch, and do not stop its process, "
        "two controllers would remediate the same targets"
    )


@pytest.mark.parametrize("is_kept_off", [True, None])
def test_process_that_policies_keep_off_may_write_on(is_kept_off: bool | None) -> None:  # noqa: FBT001  a column
    watched = StatusWatched(timedelta(seconds=6), NOW, is_kept_off)
    manager, person = (
        StatusFieldManager(name, NOW, is_over=False, seen=2) for name in ("manager", "kubectl-edit")
    )
    kind, name = CLUSTER_API_MACHINE_HEALTH_CHECK, "MachineHealthCheck fleet/a"
    assert writer_finding(kind, name, manager, watched).severity is FindingSeverity.NOTE
    assert writer_finding(kind, name, person, watched).severity is FindingSeverity.WARNING


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
    assert words_of(
        StatusFieldManager("machine-healthcheck", NOW, is_over=False, seen=seen), watched_seconds
    ) == (
        "warning: 'machine-healthcheck' is still writing the status of MachineHealthCheck "
        f"openshift-machine-api/workers ({words}, last at 2026-03-01T12:00:00Z): {STOP}"
    )


def test_controller_after_which_we_wrote_may_be_stopped_already() -> None:
    assert words_of(StatusFieldManager("manager", NOW - timedelta(minutes=9), is_over=True)) == (
        "warning: 'manager' wrote the status of MachineHealthCheck openshift-machine-api/workers 9m ago "
        "(last at 2026-03-01T11:51:00Z), and we did since: make sure that it is stopped, two "
        "controllers would remediate the same targets"
    )


async def test_checks_are_watched_in_the_version_that_they_were_listed_in(tmp_path: Path) -> None:
    path = "/apis/cluster.x-k8s.io/v1beta1/machinehealthchecks"
    check = {"metadata": {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}}
    async with ApiServer(tmp_path) as server, await Transport.connect(str(server.kubeconfig)) as transport:
        server.answer("GET", path, said({"metadata": {"resourceVersion": "7"}, "items": [check]}))
        server.watch(path, lines(then="silent"))
        listed = await list_all(transport, path, STORED_CHECKS, (), Paging())
        watch = StatusWatch(CLUSTER_API_MACHINE_HEALTH_CHECK, path, listed, ours=frozenset(), now=NOW)
        await watch.follow(transport, timedelta(seconds=0.3))
        assert [asked.path for asked in server.watches()] == [path]
