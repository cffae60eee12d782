from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devcluster.polling import until
from devcluster.simulation.__main__ import repeat
from devcluster.simulation.nodes import (
    LEASE_NAMESPACE,
    attend_nodes,
    power_off,
    power_on,
    reported_boot,
    simulated_node,
)
from kube.client import Client
from kube.errors import NotFound
from kube.resource import LEASES, NODES, Object
from kube.transport import Transport
from tests.devcluster.running import running

pytestmark = pytest.mark.cluster

NAME = "simulated"
DEADLOCK: dict[str, Any] = {
    "type": "KernelDeadlock",
    "status": "True",
    "lastTransitionTime": "2020-01-01T00:00:00Z",
}
UNKNOWN = {**DEADLOCK, "type": "Ready", "status": "Unknown"}


@pytest.fixture
async def client(transport: Transport) -> AsyncIterator[Client]:
    client = Client(transport)
    await client.create(NODES, simulated_node(NAME))
    yield client
    for resource, namespace in ((NODES, ""), (LEASES, LEASE_NAMESPACE)):
        with suppress(NotFound):
            await client.delete(resource, NAME, namespace)


def kubelets(transport: Transport) -> AbstractAsyncContextManager[None]:
    every = timedelta(seconds=0.2)
    return running(repeat("nodes", every, lambda: attend_nodes(transport, datetime.now(UTC))))


def ready(node: Object) -> dict[str, Any]:
    conditions = node.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == "Ready"), {})


async def until_node(client: Client, true: Callable[[Object], bool]) -> Object:
    async def is_true() -> bool:
        return true(await client.get(NODES, NAME))

    await until(is_true, within=timedelta(seconds=60), otherwise="the node did not change as expected")
    return await client.get(NODES, NAME)


async def until_ready(client: Client) -> Object:
    return await until_node(client, lambda node: ready(node).get("status") == "True")


async def renewal(client: Client) -> str | None:
    with suppress(NotFound):
        return str((await client.get(LEASES, NAME, LEASE_NAMESPACE))["spec"]["renewTime"])
    return None


async def until_renewed(client: Client) -> None:
    before = await renewal(client)

    async def is_renewed() -> bool:
        return await renewal(client) != before

    await until(is_renewed, within=timedelta(seconds=60), otherwise="the Lease was not renewed")


async def test_kubelet_reports_its_boot_and_renews_its_lease(transport: Transport, client: Client) -> None:
    async with kubelets(transport):
        node = await until_ready(client)
        for _ in range(2):
            await until_renewed(client)
    lease = await client.get(LEASES, NAME, LEASE_NAMESPACE)
    assert reported_boot(node) == node["metadata"]["labels"]["demo.paramedic.dev/boot"]
    assert lease["spec"]["leaseDurationSeconds"] == 40
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


async def test_kubelet_leaves_taints_and_conditions_of_others_alone(
    transport: Transport, client: Client
) -> None:
    taint = {"key": "example.com/kept", "effect": "NoSchedule"}
    await client.merge_patch(NODES, NAME, {"spec": {"taints": [taint]}})
    await client.merge_patch(
        NODES, NAME, {"status": {"conditions": [UNKNOWN, DEADLOCK]}}, subresource="status"
    )
    async with kubelets(transport):
        node = await until_ready(client)
    assert taint in node["spec"]["taints"]
    assert ready(node)["lastTransitionTime"] > "2026"
    assert {c["type"]: c["status"] for c in node["status"]["conditions"]}["KernelDeadlock"] == "True"


async def test_node_that_is_off_is_silent_until_it_boots(transport: Transport, client: Client) -> None:
    async with kubelets(transport):
        before = await until_ready(client)
        await client.merge_patch(NODES, NAME, power_off())
        await client.create(NODES, simulated_node("another"))  # shows that the kubelets go on
        try:

            async def other_is_ready() -> bool:
                return ready(await client.get(NODES, "another")).get("status") == "True"

            await until(other_is_ready, within=timedelta(seconds=60), otherwise="no kubelet runs")
            await client.merge_patch(NODES, NAME, {"status": {"conditions": [UNKNOWN]}}, subresource="status")
            await client.merge_patch(NODES, "another", power_on("boot-2"))
            await until_boot(client, "another", "boot-2")
            assert ready(await client.get(NODES, NAME))["status"] == "Unknown"
            await client.merge_patch(NODES, NAME, power_off(until=datetime.now(UTC)))
            after = await until_ready(client)
        finally:
            await client.delete(NODES, "another")
    assert reported_boot(after) != reported_boot(before)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def until_boot(client: Client, name: str, boot: str) -> None:
    async def has_booted() -> bool:
        return reported_boot(await client.get(NODES, name)) == boot

    await until(has_booted, within=timedelta(seconds=60), otherwise=f"{name} did not boot")


async def test_real_and_deleted_nodes_are_left_alone(transport: Transport, client: Client) -> None:
    await client.create(NODES, {"metadata": {"name": "real"}})
    try:
        async with kubelets(transport):
            await until_ready(client)
            await client.delete(NODES, NAME)
            await client.create(NODES, simulated_node("another"))
            await until_boot(client, "another", await boot_label(client, "another"))
            with pytest.raises(NotFound):
                await client.get(NODES, NAME)
        assert "conditions" not in (await client.get(NODES, "real")).get("status", {})
    finally:
        for name in ("real", "another"):
            await client.delete(NODES, name)


async def boot_label(client: Client, name: str) -> str:
    return str((await client.get(NODES, name))["metadata"]["labels"]["demo.paramedic.dev/boot"])
