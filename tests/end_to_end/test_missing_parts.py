"""Missing servers, rights and set-up: a process reports them, is not ready, and recovers by itself."""

import asyncio
import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from devcluster.temporal import NAMESPACE, TemporalServer
from kube.client import Client
from kube.resource import Object
from kube.transport import Transport
from tests.support.api.ports import free_port, own_layout
from tests.support.api.tcp_proxy import TcpProxy
from tests.support.cluster.processes import OurProcess, our_process
from tests.support.cluster.temporal_servers import set_up, temporal_server

pytestmark = pytest.mark.cluster

PATIENCE = timedelta(seconds=60)
CRD = "nodehealthchecks.remediation.medik8s.io"


@pytest.fixture
async def processes(
    cluster_name: str, control_plane: ControlPlane, temporal_server: TemporalServer, tmp_path: Path
) -> AsyncIterator[dict[str, OurProcess]]:
    made = {
        name: our_process(name, cluster_name, control_plane, temporal_server, tmp_path)
        for name in ("detector", "worker")
    }
    yield made
    await _stop_both(made)


async def _start_both(processes: dict[str, OurProcess]) -> None:
    for process in processes.values():
        await process.start()


async def _stop_both(processes: dict[str, OurProcess]) -> None:
    await asyncio.gather(*(process.stop() for process in processes.values()))


async def _until_both_are_ready(processes: dict[str, OurProcess]) -> None:
    await asyncio.gather(*(process.ready() for process in processes.values()))


async def _until_both_say(processes: dict[str, OurProcess], sentence: str) -> None:
    await asyncio.gather(*(_until_it_says(process, sentence) for process in processes.values()))


async def _until_it_says(process: OurProcess, sentence: str) -> None:
    async def says() -> bool:
        status, text = await process.readiness()
        return status == 503 and sentence in text

    await until(says, within=PATIENCE, otherwise=f"{process.name} never said {sentence!r}")


async def test_without_temporal_both_wait_and_go_on_when_temporal_is_there(
    processes: dict[str, OurProcess], tmp_path: Path
) -> None:
    directory = tmp_path / "temporal"
    # The address of a server that does not run yet is known from its directory.
    address = own_layout(directory).address("temporal")
    for process in processes.values():
        process.environment |= {"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": NAMESPACE}
    await _start_both(processes)
    await _until_both_say(processes, "temporal: ")

    async with temporal_server(directory) as server:
        assert server.address == address
        await _until_both_say(processes, "run `paramedic setup`")
        await set_up(server)
        await _until_both_are_ready(processes)
        await _stop_both(processes)


async def test_without_an_api_server_both_wait_name_what_they_asked_and_go_on_when_it_is_there(
    processes: dict[str, OurProcess], control_plane: ControlPlane, tmp_path: Path
) -> None:
    way = TcpProxy(control_plane.server)
    await way.start(socket.create_server(("127.0.0.1", free_port())))
    await way.stop()
    for name, process in processes.items():
        (tmp_path / name).mkdir()
        kubeconfig = way.kubeconfig(Path(process.environment["KUBECONFIG"]), tmp_path / name)
        process.environment |= {"KUBECONFIG": str(kubeconfig)}
    await _start_both(processes)
    await _until_both_say(processes, "/api/v1/namespaces/kube-system")

    async with way:
        await _until_both_are_ready(processes)
        await _stop_both(processes)


async def test_without_permission_the_detector_names_the_request_that_was_refused(
    processes: dict[str, OurProcess],
) -> None:
    detector = processes["detector"]
    detector.environment |= {"KUBECONFIG": processes["worker"].environment["KUBECONFIG"]}
    await detector.start()
    await _until_it_says(detector, "nodes is forbidden")


async def test_without_our_crd_both_wait_and_go_on_when_it_is_installed(
    processes: dict[str, OurProcess], control_plane: ControlPlane
) -> None:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport, "end-to-end-test")
        definition = await _removed_crd(client)
        try:
            await _start_both(processes)
            await _until_both_say(processes, "nodehealthchecks.remediation.medik8s.io: ")
        finally:
            await client.create(DEFINITIONS, definition)
        await _until_both_are_ready(processes)


async def _removed_crd(client: Client) -> Object:
    """Remove our CRD, and return it for a later installation."""
    found = await client.get(DEFINITIONS, CRD)
    await client.delete(DEFINITIONS, CRD)

    async def is_gone() -> bool:
        return not [crd for crd in await client.list(DEFINITIONS) if crd["metadata"]["name"] == CRD]

    await until(is_gone, within=PATIENCE, otherwise="the CRD is still there")
    annotations = found["metadata"].get("annotations", {})
    typed = {"apiVersion": DEFINITIONS.api_version, "kind": DEFINITIONS.kind}
    return typed | {"metadata": {"name": CRD, "annotations": annotations}, "spec": found["spec"]}


async def test_a_missing_variable_is_named_and_ends_the_process_with_2(
    processes: dict[str, OurProcess],
) -> None:
    detector = processes["detector"]
    detector.environment |= {"PARAMEDIC_CLUSTER": "Not A Name"}
    await detector.start()
    assert await detector.exit_code() == 2
    assert "PARAMEDIC_CLUSTER" in detector.log.read_text()
    assert "Not A Name" in detector.log.read_text()
