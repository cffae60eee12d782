"""Servers, rights and set-up that are missing: a process says so, is not ready, and goes on by itself."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from devcluster import manifests
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.temporal import TemporalServer, temporal_server
from kube.client import Client
from kube.resource import CUSTOM_RESOURCE_DEFINITIONS
from runtime import search_attributes
from tests.end_to_end.processes import OurProcess, our_process
from tests.end_to_end.world import World
from tests.ports import free_port

pytestmark = pytest.mark.cluster

BOTH = pytest.mark.parametrize("name", ["detector", "worker"])
CRD = "nodehealthchecks.remediation.medik8s.io"


async def _until_it_says(process: OurProcess, sentence: str) -> None:
    async def says() -> bool:
        status, text = await process.readiness()
        return status == 503 and sentence in text

    await until(says, within=timedelta(seconds=20), otherwise=f"{process.name} never said {sentence!r}")


@pytest.fixture
def processes(
    cluster_name: str, control_plane: ControlPlane, temporal_server: TemporalServer, tmp_path: Path
) -> dict[str, OurProcess]:
    return {
        name: our_process(name, cluster_name, control_plane, temporal_server, tmp_path)
        for name in ("detector", "worker")
    }


@BOTH
async def test_without_temporal_it_waits_and_goes_on_when_temporal_is_there(
    processes: dict[str, OurProcess], name: str, tmp_path: Path
) -> None:
    process = processes[name]
    # The address of a server that is not there yet: the one of a directory is kept over restarts.
    async with temporal_server(tmp_path / "temporal") as server:
        address = server.address
    process.environment |= {"TEMPORAL_ADDRESS": address}
    await process.start()
    await _until_it_says(process, "temporal: ")

    async with temporal_server(tmp_path / "temporal") as server:
        await _until_it_says(process, "run `paramedic setup`")
        client = await TemporalClient.connect(server.address, namespace=server.namespace)
        await search_attributes.register(client, server.namespace)
        await process.ready()
        await process.stop()


@BOTH
async def test_without_an_api_server_it_waits_and_names_what_it_asked(
    processes: dict[str, OurProcess], name: str, tmp_path: Path
) -> None:
    process = processes[name]
    good = process.environment["KUBECONFIG"]
    process.environment |= {"KUBECONFIG": _with_another_port(Path(good), tmp_path)}
    await process.start()
    await _until_it_says(process, "/api/v1/namespaces/kube-system")

    await process.stop()
    process.environment |= {"KUBECONFIG": good}
    await process.start_ready()
    await process.stop()


def _with_another_port(kubeconfig: Path, directory: Path) -> str:
    """A copy of a kubeconfig whose server is not there."""
    copy = directory / "kubeconfig"
    copy.write_text(re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{free_port()}", kubeconfig.read_text()))
    return str(copy)


async def test_without_permission_the_detector_names_the_request_that_was_refused(
    processes: dict[str, OurProcess],
) -> None:
    detector = processes["detector"]
    detector.environment |= {"KUBECONFIG": processes["worker"].environment["KUBECONFIG"]}
    await detector.start()
    await _until_it_says(detector, "nodes is forbidden")
    await detector.stop()


@BOTH
async def test_without_our_crd_it_waits_and_goes_on_when_it_is_installed(
    processes: dict[str, OurProcess], name: str, world: World, control_plane: ControlPlane
) -> None:
    process = processes[name]
    await _remove_crd(world.client)
    try:
        await process.start()
        await _until_it_says(process, "NodeHealthCheck: ")
    finally:
        await manifests.install(control_plane.kubeconfig)
    await process.ready()
    await process.stop()


async def _remove_crd(client: Client) -> None:
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, CRD)

    async def is_gone() -> bool:
        return not [
            crd for crd in await client.list(CUSTOM_RESOURCE_DEFINITIONS) if crd["metadata"]["name"] == CRD
        ]

    await until(is_gone, within=timedelta(seconds=20), otherwise="the CRD is still there")


async def test_a_missing_variable_is_named_and_ends_the_process_with_2(
    processes: dict[str, OurProcess],
) -> None:
    detector = processes["detector"]
    detector.environment |= {"PARAMEDIC_CLUSTER": "Not A Name"}
    await detector.start()
    assert await detector.exit_code() == 2
    assert "PARAMEDIC_CLUSTER" in detector.log.read_text()
    assert "Not A Name" in detector.log.read_text()
