from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import pytest

from devcluster.polling import until
from devcluster.simulation.kubelets import Intervals, Kubelet
from devcluster.simulation.machine_room import SimulatedMachine
from devcluster.simulation.node_api import NAMESPACE, NodeApi
from kube.client import Client
from kube.errors import NotFound
from kube.resource import LEASES, NODES, Object
from kube.transport import Transport
from tests.devcluster.running import running

pytestmark = pytest.mark.cluster

FAST = Intervals(renewal=timedelta(seconds=0.2), look=timedelta(seconds=0.2))
MACHINE = SimulatedMachine("simulated", 1, "boot-1")


@pytest.fixture
async def client(transport: Transport) -> AsyncIterator[Client]:
    await NodeApi(transport).ensure_lease_namespace()
    client = Client(transport)
    yield client
    for resource, namespace in ((NODES, ""), (LEASES, NAMESPACE)):
        try:
            await client.delete(resource, MACHINE.name, namespace)
        except NotFound:
            continue


def kubelet(transport: Transport, machine: SimulatedMachine = MACHINE) -> AbstractAsyncContextManager[None]:
    return running(Kubelet(machine, NodeApi(transport), FAST).run())


async def find(client: Client) -> Object | None:
    try:
        return await client.get(NODES, MACHINE.name)
    except NotFound:
        return None


async def ready(client: Client) -> dict[str, Any]:
    node = await find(client) or {}
    conditions = node.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == "Ready"), {})


async def wait_until_ready(client: Client) -> None:
    async def is_ready() -> bool:
        return (await ready(client)).get("status") == "True"

    await until(is_ready, within=timedelta(seconds=60), otherwise="the node did not become Ready")


async def renewal(client: Client) -> str:
    try:
        lease = await client.get(LEASES, MACHINE.name, NAMESPACE)
    except NotFound:
        return ""
    return str(lease["spec"]["renewTime"])


async def wait_for_renewal_after(client: Client, before: str) -> None:
    async def is_renewed() -> bool:
        return await renewal(client) > before

    await until(is_renewed, within=timedelta(seconds=60), otherwise="the Lease was not renewed")


async def declare_unknown(client: Client, others: list[dict[str, str]]) -> None:
    """The writes of the node-lifecycle controller, and the fields of another writer on the Node."""
    long_ago = {"lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "R", "message": "M"}
    conditions = [{"type": "Ready", "status": "Unknown", **long_ago}, *({**c, **long_ago} for c in others)]
    await client.merge_patch(
        NODES, MACHINE.name, {"status": {"conditions": conditions}}, subresource="status"
    )


async def test_kubelet_registers_a_ready_node_and_renews_its_lease(
    transport: Transport, client: Client
) -> None:
    async with kubelet(transport):
        await wait_until_ready(client)
        await wait_for_renewal_after(client, "")
        await wait_for_renewal_after(client, await renewal(client))
    node = await client.get(NODES, MACHINE.name)
    lease = await client.get(LEASES, MACHINE.name, NAMESPACE)
    assert node["status"]["nodeInfo"]["bootID"] == "boot-1"
    assert lease["spec"]["leaseDurationSeconds"] == 40
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


async def test_kubelet_that_starts_again_turns_unknown_into_ready_with_a_new_transition(
    transport: Transport, client: Client
) -> None:
    async with kubelet(transport):
        await wait_until_ready(client)
    await declare_unknown(client, others=[])
    async with kubelet(transport):
        await wait_until_ready(client)
    assert (await ready(client))["lastTransitionTime"] > "2026"


async def test_kubelet_leaves_taints_and_conditions_of_others_alone(
    transport: Transport, client: Client
) -> None:
    async with kubelet(transport):
        await wait_until_ready(client)
    taint = {"key": "example.com/kept", "effect": "NoSchedule"}
    await client.merge_patch(NODES, MACHINE.name, {"spec": {"taints": [taint]}})
    await declare_unknown(client, others=[{"type": "KernelDeadlock", "status": "True"}])
    async with kubelet(transport):
        await wait_until_ready(client)
    node = await client.get(NODES, MACHINE.name)
    assert taint in node["spec"]["taints"]
    statuses = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
    assert statuses["KernelDeadlock"] == "True"


async def test_rebooted_machine_goes_on_with_its_node_on_the_new_boot(
    transport: Transport, client: Client
) -> None:
    async with kubelet(transport):
        await wait_until_ready(client)
    before = await client.get(NODES, MACHINE.name)

    async def has_booted() -> bool:
        node = await client.get(NODES, MACHINE.name)
        return bool(node["status"]["nodeInfo"]["bootID"] == "boot-2")

    async with kubelet(transport, SimulatedMachine(MACHINE.name, MACHINE.number, "boot-2")):
        await until(has_booted, within=timedelta(seconds=60), otherwise="the node shows no new boot")
    assert (await client.get(NODES, MACHINE.name))["metadata"]["uid"] == before["metadata"]["uid"]


async def test_deleted_node_stays_deleted_until_its_kubelet_starts_again(
    transport: Transport, client: Client
) -> None:
    async with kubelet(transport):
        await wait_until_ready(client)
        await wait_for_renewal_after(client, "")
        await client.delete(NODES, MACHINE.name)
        await give_lease_without_node(client)
        await wait_for_renewal_after(client, await renewal(client))  # so the kubelet goes on
        assert await find(client) is None
    async with kubelet(transport):
        await wait_until_ready(client)


async def give_lease_without_node(client: Client) -> None:
    """Put a Lease where garbage collection has removed that of the Node."""

    async def is_collected() -> bool:
        return await renewal(client) == ""

    await until(is_collected, within=timedelta(seconds=60), otherwise="the Lease outlived its Node")
    metadata = {"name": MACHINE.name, "namespace": NAMESPACE}
    spec = {"renewTime": "2020-01-01T00:00:00.000000Z"}
    body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
    await client.create(LEASES, body, NAMESPACE)
