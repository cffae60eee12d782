"""The demo in a cluster that others use: it touches nothing of theirs, and leaves nothing."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster import assets, control_plane
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.simulation.nodes import simulated_node
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS
from devcluster.user_cluster.cluster import (
    FIXTURES,
    KINDS,
    OF_RIGHTS,
    RefusedError,
    keeping_turn,
    refuse,
    remove_everything,
    require_silence,
    set_up,
    write_kubeconfig,
)
from kube.client import Client
from kube.errors import Forbidden, KubernetesError
from kube.resource import CONFIG_MAPS, EVENTS, LEASES, NAMESPACES, NODES, SECRETS, Object, Resource
from kube.transport import Transport
from tests.support.api.ports import own_layout
from tests.support.cluster.command import PARAMEDIC

pytestmark = pytest.mark.cluster
SILENCE = timedelta(seconds=0.3)
GRACE = timedelta(seconds=6)
WATCHED = (NODES, NAMESPACES, LEASES, EVENTS, DEFINITIONS, *OF_RIGHTS.values())
PATIENCE = timedelta(seconds=60)


@pytest.fixture(scope="module")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    """A cluster of a user, without anything of Paramedic, with a real Node."""
    directory = tmp_path_factory.mktemp("users")
    async with control_plane.control_plane(own_layout(directory), assets.find(), node_grace=GRACE) as running:
        async with await Transport.connect(str(running.kubeconfig)) as transport:
            client = Client(transport)
            await client.create(NODES, {"metadata": {"name": "real"}})

            async def has_namespaces() -> bool:
                found = {body["metadata"]["name"] for body in await client.list(NAMESPACES)}
                return {"default", "kube-node-lease"} <= found

            await until(has_namespaces, within=PATIENCE, otherwise="namespaces are missing")
        yield running


@pytest.fixture
async def transport(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Transport]:
    """The connection of the user, whose kubeconfig has the context `dev`."""
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    async with await Transport.connect(str(plane.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def client(transport: Transport) -> Client:
    return Client(transport)


async def everything(client: Client) -> dict[str, set[tuple[str, str]]]:
    """The names of all objects of the kinds that the demo creates, without those of controllers."""
    return {
        resource.plural: {_key(body) for body in await client.list(resource) if not _is_of_controller(body)}
        for resource in WATCHED
    }


def _is_of_controller(body: Object) -> bool:
    is_event: bool = body.get("source", {}).get("component") == "node-controller"
    return is_event or body["metadata"].get("namespace") == "kube-system"


def _key(body: Object) -> tuple[str, str]:
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]


async def removed(client: Client) -> list[str]:
    """Remove everything; the sentences about what stays."""
    said: list[str] = []
    await remove_everything(client, said.append)
    return said


async def test_everything_that_a_demo_created_goes_and_everything_else_stays(
    transport: Transport, client: Client
) -> None:
    before = await everything(client)
    async with keeping_turn(client):
        await set_up(transport)
    assert await everything(client) != before
    assert await removed(client) == []
    assert await everything(client) == before


async def test_account_of_the_demo_changes_its_own_objects_alone(
    transport: Transport, client: Client, tmp_path: Path
) -> None:
    async with keeping_turn(client):
        await set_up(transport)
        await write_kubeconfig(transport, "dev", tmp_path / "kubeconfig")
        labels: Object = {"metadata": {"labels": {"a": "b"}}}
        status: Object = {"status": {"conditions": []}}
        async with await Transport.connect(str(tmp_path / "kubeconfig")) as connected:
            account = Client(connected)
            assert {"real", "paramedic-demo-1"} <= {n["metadata"]["name"] for n in await account.list(NODES)}
            await account.merge_patch(NODES, "paramedic-demo-1", labels)
            await account.create(LEASES, {"metadata": {"name": "paramedic-demo-1"}}, "kube-node-lease")
            await account.create(REQUESTS, {**_of(REQUESTS), "metadata": {"name": "r"}}, "paramedic-demo")
            refused = [
                account.merge_patch(NODES, "real", labels),
                account.merge_patch(NODES, "real", status, subresource="status"),
                account.delete(NODES, "paramedic-demo-1"),
                account.create(NODES, simulated_node("paramedic-demo-9")),
                account.create(NODE_HEALTH_CHECKS, FIXTURES.node_health_check()),
                account.merge_patch(NODE_HEALTH_CHECKS, "paramedic-demo", {"spec": {"minHealthy": "0%"}}),
                account.create(REQUESTS, {**_of(REQUESTS), "metadata": {"name": "r"}}, "default"),
                account.list(SECRETS),
                account.list(CONFIG_MAPS),
            ]
            for attempt in refused:
                with pytest.raises(Forbidden):
                    await attempt

            async def is_refused() -> bool:
                """True once the policy is in force: RBAC cannot limit the name of a new object."""
                name = os.urandom(4).hex()
                try:
                    await account.create(LEASES, {"metadata": {"name": name}}, "kube-node-lease")
                except KubernetesError as error:
                    return "changes its own objects alone" in str(error)
                await client.delete(LEASES, name, "kube-node-lease")
                return False

            await until(is_refused, within=PATIENCE, otherwise="a foreign Lease can be created")
    await removed(client)


def _of(resource: Resource) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


async def test_crd_stays_while_it_has_a_check_of_others(transport: Transport, client: Client) -> None:
    async with keeping_turn(client):
        await set_up(transport)
    theirs = {"metadata": {"name": "workers"}, "spec": FIXTURES.node_health_check()["spec"]}
    await client.create(NODE_HEALTH_CHECKS, _of(NODE_HEALTH_CHECKS) | theirs)
    assert await removed(client) == [
        f"The CRD {NODE_HEALTH_CHECKS.full_name} stays: it has objects that the demo did not create."
    ]
    assert [check["metadata"]["name"] for check in await client.list(NODE_HEALTH_CHECKS)] == ["workers"]
    with pytest.raises(RefusedError, match="has NodeHealthCheck workers: the demo and controllers"):
        await refuse(transport, "dev")
    await client.delete(NODE_HEALTH_CHECKS, "workers")
    await removed(client)
    await refuse(transport, "dev")


async def test_cluster_with_kinds_of_checks_is_refused_and_crds_of_others_stay(
    transport: Transport, client: Client
) -> None:
    async with keeping_turn(client):
        await set_up(transport)
    for kind in KINDS:
        await client.merge_patch(DEFINITIONS, kind.full_name, {"metadata": {"labels": None}})
    await removed(client)
    crd = "nodehealthchecks.remediation.medik8s.io"
    with pytest.raises(RefusedError, match=f"The cluster of context dev has the CRD {crd}: "):
        await refuse(transport, "dev")
    for kind in KINDS:
        await client.delete(DEFINITIONS, kind.full_name)


async def test_user_with_few_rights_is_refused(plane: ControlPlane) -> None:
    async with await Transport.connect(str(plane.detector_kubeconfig)) as transport:
        with pytest.raises(RefusedError, match="The user of context dev is no cluster-admin"):
            await refuse(transport, "dev")


async def test_demo_begins_beside_a_killed_one_and_not_beside_a_running_one(client: Client) -> None:
    async with keeping_turn(client, timedelta(seconds=0.05)):
        with pytest.raises(RefusedError, match=r"^A demo of .*, pid \d+ runs in this cluster\.$"):
            await require_silence(client, SILENCE)
        with pytest.raises(RefusedError, match=r"^Another demo begins in this cluster"):
            async with keeping_turn(client):
                pass
    await require_silence(client, SILENCE)
    await removed(client)


async def until_nodes_join(client: Client, demo: asyncio.subprocess.Process) -> None:
    async def has_nodes() -> bool:
        assert demo.returncode is None
        return len(await client.list(NODES)) > 1

    await until(has_nodes, within=PATIENCE, otherwise="no Node joined the cluster")


async def test_interrupted_demo_leaves_the_cluster_as_it_was(plane: ControlPlane, client: Client) -> None:
    before = await everything(client)
    demo = await asyncio.create_subprocess_exec(
        *(PARAMEDIC, "demo", "--context", "dev"),
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    await until_nodes_join(client, demo)
    demo.send_signal(signal.SIGINT)
    async with asyncio.timeout(120):
        output, _ = await demo.communicate()
    assert demo.returncode == 130, output.decode()
    assert "It is removed." in output.decode()
    assert await everything(client) == before


async def test_demo_after_a_killed_one_leaves_the_cluster_as_it_was(
    plane: ControlPlane, client: Client
) -> None:
    before = await everything(client)
    command = (PARAMEDIC, "demo", "--context", "dev")
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig)}
    killed = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    await until_nodes_join(client, killed)
    killed.send_signal(signal.SIGKILL)
    await killed.wait()
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(240):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert "ended with the outcome Remediated" in output.decode()
    assert "It is removed." in output.decode()
    assert await everything(client) == before
