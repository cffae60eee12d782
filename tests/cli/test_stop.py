"""`paramedic stop` and `paramedic start` on a real API server."""

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from health.cluster.global_stop import STOP
from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import NAMESPACES
from kube.transport import Transport
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, Installation, ParamedicStatusDocument
from tests.support.api.ports import free_port
from tests.support.cluster.command import Command
from tests.support.cluster.installations import forget_installations

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 42")]

NAMESPACE = "stopped-leases"
SINCE = r"since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
ON = rf"https://127\.0\.0\.1:\d+ \(namespace {NAMESPACE}\)"


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    """A person with all rights; the namespace is there, and no installation is."""
    await forget_installations(control_plane)
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        with suppress(AlreadyExists):
            await Client(transport).create(NAMESPACES, body)
        yield Client(transport)


@pytest.fixture
def paramedic(control_plane: ControlPlane) -> Command:
    return Command(
        {
            "KUBECONFIG": str(control_plane.kubeconfig),
            "PARAMEDIC_LEASE_NAMESPACE": NAMESPACE,
            "TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}",
        }
    )


async def test_stop_is_given_changed_and_lifted_and_each_may_be_repeated(
    paramedic: Command, client: Client
) -> None:
    async def says(pattern: str, *arguments: str) -> None:
        ran = await paramedic(*arguments)
        assert (ran.code, ran.err) == (0, "")
        assert re.fullmatch(pattern, ran.out.strip()), ran.out

    async def annotated() -> object:
        return (await client.get(NAMESPACES, NAMESPACE))["metadata"].get("annotations", {}).get(STOP)

    rest = "; requests that exist go on"
    await says(f"{ON} is not stopped", "start")
    await says(f"{ON} is stopped {SINCE}: row 7{rest}", "stop", "--reason", "row 7")
    assert await annotated() == "row 7"
    await says(f"{ON} was stopped already {SINCE}: row 7{rest}", "stop", "--reason", "row 7")
    await says(f"{ON} was stopped already {SINCE}: row 7{rest}", "stop")
    row_8 = f"{ON} is stopped {SINCE}: row 8; before, it was stopped {SINCE}: row 7{rest}"
    await says(row_8, "stop", "--reason", "row 8")
    await says(f"{ON} goes on; it was stopped {SINCE}: row 8", "start")
    await says(f"{ON} is not stopped", "start")
    assert await annotated() is None
    await says(f"{ON} is stopped {SINCE}: no reason is given{rest}", "stop")


async def test_namespace_that_is_not_there_is_no_stop(paramedic: Command) -> None:
    ran = await paramedic("stop", "--lease-namespace", "typo")

    assert ran.code == 3
    assert "there is no namespace typo" in ran.err


@pytest.mark.parametrize("order", ["stop", "start"])
async def test_namespace_that_no_installation_reads_is_neither_stopped_nor_started(
    paramedic: Command, client: Client, order: str
) -> None:
    body = {"apiVersion": PARAMEDIC_STATUSES.api_version, "kind": PARAMEDIC_STATUSES.kind}
    made = await client.create(PARAMEDIC_STATUSES, body | {"metadata": {"name": NAME}}, NAMESPACE)
    installation = Installation(cluster="prod-1a2b3c4d", lease_namespace=NAMESPACE)
    patch = ParamedicStatusDocument(installation=installation).as_patch(made["metadata"]["resourceVersion"])
    await client.merge_patch(PARAMEDIC_STATUSES, NAME, patch, NAMESPACE, "status")
    try:
        ran = await paramedic(order, "--lease-namespace", "default")
        assert (ran.code, ran.out) == (3, "")
        assert "no installation reads the namespace default, nothing was changed" in ran.err
        assert f"give --lease-namespace {NAMESPACE}" in ran.err
        assert STOP not in (await client.get(NAMESPACES, "default"))["metadata"].get("annotations", {})
        assert (await paramedic("start")).code == 0
    finally:
        await client.delete(PARAMEDIC_STATUSES, NAME, NAMESPACE)


async def test_missing_right_to_stop_is_reported(paramedic: Command, control_plane: ControlPlane) -> None:
    ran = await paramedic("stop", KUBECONFIG=str(control_plane.detector_kubeconfig))

    assert (ran.code, ran.out) == (1, "")
    assert "403" in ran.err or "forbidden" in ran.err


async def test_cluster_that_is_not_known_is_an_error_of_one_sentence(
    paramedic: Command, tmp_path: Path
) -> None:
    ran = await paramedic("stop", KUBECONFIG=str(tmp_path / "none"))

    assert ran.code == 1
    assert ran.err.startswith("paramedic: ")
    assert len(ran.err.splitlines()) == 1
