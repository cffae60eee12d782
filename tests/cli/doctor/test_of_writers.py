"""What is said of somebody else who writes the status of a check."""

from datetime import timedelta
from pathlib import Path

import pytest

from cli.doctor.of_checks import STORED_CHECKS, writer_finding
from cli.doctor.status_watch import StatusWatch
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.model.status_writers import StatusWriter
from kube.listing import Paging, list_all
from kube.transport import Transport
from tests.kube.api_server import ApiServer, lines, said
from tests.objects import NOW

STOP = "stop it, two controllers would remediate the same targets"


def words_of(writer: StatusWriter, watched_seconds: float = 0) -> str:
    name = "MachineHealthCheck openshift-machine-api/workers"
    return str(writer_finding(name, writer, timedelta(seconds=watched_seconds)))


def test_controller_that_still_writes_the_status_is_named_with_the_time() -> None:
    assert words_of(StatusWriter("machine-healthcheck", NOW, is_over=False), 6) == (
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
    assert words_of(StatusWriter("machine-healthcheck", NOW, is_over=False, seen=seen), watched_seconds) == (
        "warning: 'machine-healthcheck' is still writing the status of MachineHealthCheck "
        f"openshift-machine-api/workers ({words}, last at 2026-03-01T12:00:00Z): {STOP}"
    )


def test_controller_after_which_we_wrote_may_be_stopped_already() -> None:
    assert words_of(StatusWriter("manager", NOW - timedelta(minutes=9), is_over=True)) == (
        "warning: 'manager' wrote the status of MachineHealthCheck openshift-machine-api/workers within the "
        "last hour (last at 2026-03-01T11:51:00Z), and we did since: make sure that it is stopped, two "
        "controllers would remediate the same targets"
    )


async def test_checks_are_watched_in_the_version_that_they_were_listed_in(tmp_path: Path) -> None:
    path = "/apis/cluster.x-k8s.io/v1beta1/machinehealthchecks"
    check = {"metadata": {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}}
    async with ApiServer(tmp_path) as server, await Transport.connect(str(server.kubeconfig)) as transport:
        server.answer("GET", path, said({"metadata": {"resourceVersion": "7"}, "items": [check]}))
        server.watch(path, lines(then="silent"))
        listed = await list_all(transport, path, STORED_CHECKS, (), Paging())
        watch = StatusWatch(CLUSTER_API_MACHINE_HEALTH_CHECK, path, listed, frozenset(), NOW)
        await watch.follow(transport, timedelta(seconds=0.3))
        assert [asked.path for asked in server.watches()] == [path]
