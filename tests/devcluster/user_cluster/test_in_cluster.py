"""The demo in a cluster that others use: it touches nothing of theirs, and leaves nothing."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster import assets, control_plane
from devcluster.control_plane import ControlPlane
from devcluster.simulation.nodes import simulated_node
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS
from devcluster.user_cluster.guard_proxy import guarded_kubeconfig, upstream
from devcluster.user_cluster.names import KINDS
from devcluster.user_cluster.only_one import AnotherDemoError, keeping_turn, take_turn
from devcluster.user_cluster.refusals import look
from devcluster.user_cluster.set_up import FIXTURES, DemoCleanUp, install_definitions
from kube.client import Client
from kube.errors import Forbidden, NotFound, Unauthorized
from kube.resource import LEASES, NAMESPACES, NODES, Object, Resource
from kube.transport import Transport
from tests.support.api.ports import own_layout
from tests.support.cluster.command import PARAMEDIC

pytestmark = pytest.mark.cluster
SILENCE = timedelta(seconds=0.3)
GRACE = timedelta(seconds=6)
WATCHED = (NODES, NAMESPACES, LEASES, DEFINITIONS)


@pytest.fixture(scope="module")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    """A cluster of a user, without anything of Paramedic, with a real Node."""
    directory = tmp_path_factory.mktemp("users")
    async with control_plane.control_plane(own_layout(directory), assets.find(), node_grace=GRACE) as running:
        async with await Transport.connect(str(running.kubeconfig)) as transport:
            await Client(transport).create(NODES, {"metadata": {"name": "real"}})
        yield running


@dataclass(frozen=True, kw_only=True)
class Connected:
    everything: Client
    """Past the guard, as the user."""
    guarded: Client
    transport: Transport
    """Through the guard."""
    said: list[str]

    def clean_up(self) -> DemoCleanUp:
        return DemoCleanUp(self.guarded, self.everything, self.said.append)

    async def set_up(self) -> None:
        await take_turn(self.guarded, SILENCE)
        await install_definitions(self.transport, self.guarded)

    async def names(self, resource: Resource) -> set[str]:
        return {body["metadata"]["name"] for body in await self.everything.list(resource)}


@pytest.fixture
async def cluster(
    plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Connected]:
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    async with (
        upstream("dev") as found,
        guarded_kubeconfig(found, tmp_path) as kubeconfig,
        await Transport.connect(str(plane.kubeconfig)) as everything,
        await Transport.connect(str(kubeconfig)) as guarded,
    ):
        yield Connected(everything=Client(everything), guarded=Client(guarded), transport=guarded, said=[])


async def left(plane: ControlPlane) -> dict[str, set[tuple[str, str]]]:
    async with await Transport.connect(str(plane.kubeconfig)) as transport:
        client = Client(transport)
        return {resource.plural: {_key(body) for body in await client.list(resource)} for resource in WATCHED}


def _key(body: Object) -> tuple[str, str]:
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]


async def join(cluster: Connected, name: str) -> None:
    await cluster.guarded.create(NODES, simulated_node(name, is_guest=True))
    await cluster.guarded.create(LEASES, {"metadata": {"name": name}}, "kube-node-lease")


async def test_everything_that_a_killed_demo_left_goes_and_everything_else_stays(
    cluster: Connected, plane: ControlPlane
) -> None:
    before = await left(plane)
    await cluster.set_up()
    await join(cluster, "paramedic-demo-0a1b-1")
    await cluster.guarded.create(NODE_HEALTH_CHECKS, FIXTURES.node_health_check())
    assert await cluster.names(NODES) == {"real", "paramedic-demo-0a1b-1"}
    await cluster.clean_up().run()
    assert await left(plane) == before
    assert cluster.said == []


async def test_crd_stays_while_it_has_a_check_of_others(cluster: Connected) -> None:
    """The guard hides that check; the deletion of the CRD would delete it."""
    await cluster.set_up()
    theirs = {"metadata": {"name": "workers"}, "spec": FIXTURES.node_health_check()["spec"]}
    kind = {"apiVersion": NODE_HEALTH_CHECKS.api_version, "kind": NODE_HEALTH_CHECKS.kind}
    await cluster.everything.create(NODE_HEALTH_CHECKS, kind | theirs)
    assert await cluster.guarded.list(NODE_HEALTH_CHECKS) == []
    await cluster.clean_up().run()
    assert await cluster.names(NODE_HEALTH_CHECKS) == {"workers"}
    assert cluster.said == [
        f"The CRD {NODE_HEALTH_CHECKS.full_name} stays: it has objects that the demo did not create."
    ]
    await cluster.everything.delete(NODE_HEALTH_CHECKS, "workers")
    await cluster.clean_up().run()
    assert NODE_HEALTH_CHECKS.full_name not in await cluster.names(DEFINITIONS)


async def test_crd_that_existed_before_stays(cluster: Connected) -> None:
    await cluster.set_up()
    unlabelled = {"metadata": {"labels": None}}
    for kind in KINDS:
        await cluster.everything.merge_patch(DEFINITIONS, kind.full_name, unlabelled)
    await cluster.set_up()
    await cluster.clean_up().run()
    names = {kind.full_name for kind in KINDS}
    assert names <= await cluster.names(DEFINITIONS)
    for name in names:
        await cluster.everything.delete(DEFINITIONS, name)


async def test_real_nodes_are_out_of_reach(cluster: Connected) -> None:
    assert await cluster.guarded.list(NODES) == []
    with pytest.raises(Forbidden, match="the demo may not"):
        await cluster.guarded.delete(NODES, "real")
    with pytest.raises(Forbidden):
        await cluster.guarded.merge_patch(NODES, "real", {"metadata": {"labels": {"a": "b"}}})


@pytest.mark.usefixtures("cluster")
async def test_other_users_of_the_machine_cannot_use_the_proxy(tmp_path: Path) -> None:
    content = json.loads((tmp_path / "guarded.kubeconfig").read_text())
    content["users"][0]["user"]["token"] = "guessed"
    (tmp_path / "other.kubeconfig").write_text(json.dumps(content))
    async with await Transport.connect(str(tmp_path / "other.kubeconfig")) as transport:
        with pytest.raises(Unauthorized):
            await Client(transport).list(NAMESPACES)


async def test_demo_begins_beside_a_killed_one_and_not_beside_a_running_one(cluster: Connected) -> None:
    await take_turn(cluster.guarded, SILENCE)
    await take_turn(cluster.guarded, SILENCE)
    async with keeping_turn(cluster.guarded, timedelta(seconds=0.05)):
        with pytest.raises(AnotherDemoError, match=r"^A demo of .*, pid \d+ runs in this cluster\.$"):
            await take_turn(cluster.guarded, SILENCE)
    await cluster.clean_up().run()
    with pytest.raises(NotFound):
        await cluster.everything.get(NAMESPACES, "paramedic-demo")


async def test_missing_rights_are_named(plane: ControlPlane) -> None:
    async with await Transport.connect(str(plane.detector_kubeconfig)) as transport:
        missing = (await look(transport)).missing_rights
    assert {"create, get, list, watch, delete, patch nodes", "patch nodes/status"} <= set(missing)
    async with await Transport.connect(str(plane.kubeconfig)) as transport:
        assert (await look(transport)).missing_rights == ()


async def test_whole_demo_leaves_the_cluster_as_it_was(plane: ControlPlane) -> None:
    before = await left(plane)
    process = await asyncio.create_subprocess_exec(
        *(PARAMEDIC, "demo", "--context", "dev"),
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(240):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert "ended with the outcome Remediated" in output.decode()
    assert "It is removed." in output.decode()
    assert await left(plane) == before
