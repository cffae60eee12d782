"""The stand-in for OpenShift's machine API, on a real API server and simulated nodes."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.__main__ import simulate
from devcluster.simulation.nodes import power_off, power_on
from devcluster.simulation.resources import MACHINES
from kube.client import Client
from kube.resource import NODES
from kube.transport import Transport
from tests.devcluster.running import running
from tests.devcluster.simulation.machine_world import NAMESPACE, MachineWorld

pytestmark = pytest.mark.cluster

PACE = timedelta(seconds=0.5)
AT_ONCE, NEVER = timedelta(milliseconds=1), timedelta(hours=1)


async def openshift(transport: Transport, provisioning: timedelta) -> None:
    await simulate(transport, PACE, provisioning, None)


@pytest.fixture
async def world(transport: Transport) -> AsyncIterator[MachineWorld]:
    """Nothing is simulated until a test begins it."""
    world = MachineWorld(Client(transport, "test"))
    await world.until_served()
    yield world
    async with running(openshift(transport, AT_ONCE)):
        await world.remove()


@asynccontextmanager
async def process(control_plane: ControlPlane) -> AsyncIterator[asyncio.subprocess.Process]:
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "devcluster.simulation", "--renew-every", "0.5", "--provisioning", "0.01"),
        env=os.environ | {"KUBECONFIG": str(control_plane.kubeconfig)},
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


def condition(node: dict[str, Any], type_: str) -> str:
    return next(str(c["status"]) for c in node["status"]["conditions"] if c["type"] == type_)


async def test_set_of_three_gets_three_running_machines_with_ready_nodes_and_loses_one_when_scaled_down(
    transport: Transport, world: MachineWorld
) -> None:
    await world.add_set(3)
    async with running(openshift(transport, AT_ONCE)):
        machines, nodes = await world.until_running(3), await world.nodes()
        await world.scale(2)
        left = {machine["status"]["nodeRef"]["name"] for machine in await world.until_running(2)}

        async def nodes_of_two_are_left() -> bool:
            return set(await world.nodes()) == left

        await world.until(nodes_of_two_are_left, "the node of the third one is still there")
    owner = (await world.machine_set())["metadata"]["uid"]
    assert {machine["status"]["nodeRef"]["name"] for machine in machines} == set(nodes)
    assert len(nodes) == 3
    for machine in machines:
        metadata, node = machine["metadata"], nodes[machine["status"]["nodeRef"]["name"]]
        assert re.fullmatch(rf"{world.name}-[a-z0-9]{{5}}", metadata["name"])
        assert metadata["finalizers"] == ["machine.machine.openshift.io"]
        assert [(o["uid"], o["controller"]) for o in metadata["ownerReferences"]] == [(owner, True)]
        assert machine["spec"]["providerSpec"] == {"value": {"instanceType": "large"}}
        assert machine["spec"]["providerID"] == node["spec"]["providerID"]
        assert machine["status"]["nodeRef"]["uid"] == node["metadata"]["uid"]
        assert machine["status"]["lastUpdated"] >= metadata["creationTimestamp"]
        assert condition(node, "Ready") == "True"
        annotation = node["metadata"]["annotations"]["machine.openshift.io/machine"]
        assert annotation == f"{NAMESPACE}/{metadata['name']}"


async def test_machine_waits_for_its_provider_and_its_deletion_does_not(
    transport: Transport, world: MachineWorld
) -> None:
    await world.add_set(1)
    async with running(openshift(transport, NEVER)):

        async def is_provisioning() -> bool:
            return [m.get("status", {}).get("phase") for m in await world.machines()] == ["Provisioning"]

        await world.until(is_provisioning, "its provider never began")
        (machine,) = await world.machines()
        assert "providerID" not in machine["spec"]
        assert not await world.nodes()

        await world.delete_machine(machine["metadata"]["name"])
        await world.until_gone(machine["metadata"]["name"])


async def test_deleted_machine_goes_with_its_node_and_is_replaced(
    transport: Transport, world: MachineWorld
) -> None:
    await world.add_set(2)
    async with running(openshift(transport, AT_ONCE)):
        before = {m["metadata"]["name"]: m for m in await world.until_running(2)}
        name, deleted = before.popitem()
        await world.delete_machine(name)
        await world.until_gone(name)
        assert deleted["status"]["nodeRef"]["name"] not in await world.nodes()
        after = {machine["metadata"]["name"] for machine in await world.until_running(2)}
    assert name not in after
    assert before.keys() < after


async def test_node_of_a_machine_hangs_and_boots(transport: Transport, world: MachineWorld) -> None:
    await world.add_set(1)
    async with running(openshift(transport, AT_ONCE)):
        (machine,) = await world.until_running(1)
        node = machine["status"]["nodeRef"]["name"]
        await world.client.merge_patch(NODES, node, power_off())
        await asyncio.sleep(2 * PACE.total_seconds())  # a report may be under way
        unknown = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        patch = {"status": {"conditions": [unknown]}}
        await world.client.merge_patch(NODES, node, patch, subresource="status")

        async def is_not_ready() -> bool:
            return await world.ready_replicas() == 0

        await world.until(is_not_ready, "the set still counts it as ready")
        assert condition((await world.nodes())[node], "Ready") == "Unknown"  # no kubelet says otherwise
        await world.client.merge_patch(NODES, node, power_on())
        await world.until_running(1)


async def test_failed_machine_and_deleted_node_are_left_to_health_checks(
    transport: Transport, world: MachineWorld
) -> None:
    await world.add_set(2)
    async with running(openshift(transport, AT_ONCE)):
        failed, nodeless = await world.until_running(2)
        status = {"phase": "Failed", "errorReason": "InvalidConfiguration"}
        name = failed["metadata"]["name"]
        await world.client.merge_patch(MACHINES, name, {"status": status}, NAMESPACE, "status")
        await world.client.delete(NODES, nodeless["status"]["nodeRef"]["name"])

        async def one_is_ready() -> bool:
            return await world.ready_replicas() == 1

        await world.until(one_is_ready, "the set never noticed that a node is gone")
        machines = {m["metadata"]["name"]: m["status"] for m in await world.machines()}
    assert machines[name]["phase"] == "Failed"
    assert machines[nodeless["metadata"]["name"]]["nodeRef"] == nodeless["status"]["nodeRef"]


async def test_killed_controller_carries_on_where_it_was(
    control_plane: ControlPlane, world: MachineWorld
) -> None:
    async def there_are_machines() -> bool:
        return bool(await world.machines())

    async with process(control_plane) as first:
        await world.add_set(3)
        await world.until(there_are_machines, "there never was a Machine")
        first.send_signal(signal.SIGKILL)
        await first.wait()
    async with process(control_plane) as second:
        machines = await world.until_running(3)
        assert len(await world.nodes()) == 3
        name = machines[0]["metadata"]["name"]
        await world.delete_machine(name)
        await world.until_gone(name)
        await world.until_running(3)
        second.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(second.wait(), 60) == 0
    assert machines[0]["status"]["nodeRef"]["name"] not in await world.nodes()
