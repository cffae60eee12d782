from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devcluster.polling import until
from devcluster.simulation.__main__ import simulate
from devcluster.simulation.nodes import BOOT, power_on, reported_boot, simulated_node
from devcluster.simulation.remediator import NODE_NAME, remediate
from devcluster.simulation.resources import MACHINES, REQUESTS
from kube.client import Client
from kube.errors import Invalid, NotFound
from kube.resource import NODES
from kube.transport import Transport
from tests.devcluster.running import running

pytestmark = pytest.mark.cluster

NAMESPACE = "default"
NAME = "request-of-a-test"
NODE = "node-of-a-request"
PACE = timedelta(seconds=0.3)


@pytest.fixture
async def client(transport: Transport) -> AsyncIterator[Client]:
    """A simulated node has booted, and nothing is simulated until a test begins it."""
    client = Client(transport)
    await client.create(NODES, simulated_node(NODE))
    await client.merge_patch(NODES, NODE, power_on("boot-1"))
    status = {"nodeInfo": {"bootID": "boot-1"}}
    await client.merge_patch(NODES, NODE, {"status": status}, subresource="status")
    yield client
    with suppress(NotFound):
        await client.delete(REQUESTS, NAME, NAMESPACE)
    await client.delete(NODES, NODE)


async def request(client: Client, node: str) -> None:
    metadata = {"name": NAME, "namespace": NAMESPACE, "annotations": {NODE_NAME: node}}
    body = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind, "metadata": metadata}
    await client.create(REQUESTS, body, NAMESPACE)


async def status(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(REQUESTS, NAME, NAMESPACE)).get("status", {})
    return found


async def conditions(client: Client) -> dict[str, str]:
    return {c["type"]: c["status"] for c in (await status(client)).get("conditions", [])}


async def wait_for(client: Client, type_: str, value: str) -> None:
    async def is_there() -> bool:
        return (await conditions(client)).get(type_) == value

    await until(is_there, within=timedelta(seconds=60), otherwise=f"{type_} did not become {value}")


async def boot(client: Client) -> str:
    return reported_boot(await client.get(NODES, NODE))


async def test_requested_node_is_power_cycled_once(transport: Transport, client: Client) -> None:
    async with running(simulate(transport, PACE, None, None)):
        await request(client, NODE)
        await wait_for(client, "Processing", "True")
        began = datetime.now(UTC)
        await wait_for(client, "Succeeded", "True")
        assert datetime.now(UTC) - began > timedelta(seconds=1)  # it was off for two seconds
        booted = await boot(client)
        assert booted != "boot-1"
        for _ in range(3):
            await remediate(client)
        assert await boot(client) == booted
    assert (await conditions(client))["Processing"] == "False"


async def test_node_of_a_deleted_request_is_switched_on_again(transport: Transport, client: Client) -> None:
    async def is_off() -> bool:
        return BOOT not in (await client.get(NODES, NODE))["metadata"]["labels"]

    async def has_booted() -> bool:
        return await boot(client) != "boot-1"

    async with running(simulate(transport, PACE, None, None)):
        await request(client, NODE)
        await until(is_off, within=timedelta(seconds=60), otherwise="the node was not switched off")
        await client.delete(REQUESTS, NAME, NAMESPACE)
        await until(has_booted, within=timedelta(seconds=60), otherwise="the node stayed off")


async def test_spec_gets_its_default_where_the_request_has_none(client: Client) -> None:
    await request(client, NODE)
    assert (await client.get(REQUESTS, NAME, NAMESPACE))["spec"] == {"powerOffSeconds": 2}


async def test_restarted_remediator_does_not_power_cycle_again_what_has_booted_since(client: Client) -> None:
    await request(client, NODE)
    before = {"status": {"bootIDBefore": "boot-0"}}
    await client.merge_patch(REQUESTS, NAME, before, NAMESPACE, subresource="status")
    await remediate(client)
    assert (await conditions(client))["Succeeded"] == "True"
    assert (await client.get(NODES, NODE))["metadata"]["labels"][BOOT] == "boot-1"


async def test_request_for_an_unknown_node_fails_with_the_reason(client: Client) -> None:
    await request(client, "node-9")
    await remediate(client)
    assert (await conditions(client))["Succeeded"] == "False"
    assert {c["reason"] for c in (await status(client))["conditions"]} == {"NodeNotFound"}


async def test_request_named_as_a_machine_power_cycles_the_node_of_that_machine(client: Client) -> None:
    uid = await machine(client, node=NODE)
    owner = {"apiVersion": MACHINES.api_version, "kind": MACHINES.kind, "name": NAME, "uid": uid}
    metadata = {"name": NAME, "namespace": NAMESPACE, "ownerReferences": [owner]}
    body = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind, "metadata": metadata}
    try:
        await client.create(REQUESTS, body, NAMESPACE)
        await remediate(client)
        assert (await status(client))["bootIDBefore"] == "boot-1"
        assert {c["message"] for c in (await status(client))["conditions"]} == {
            f"Switching {NODE} off and on."
        }
    finally:  # takes the request along: the garbage collector goes by its owner
        await client.delete(MACHINES, NAME, NAMESPACE)


async def machine(client: Client, node: str) -> str:
    """A Machine that is called as its request; answers its uid."""
    body = {"apiVersion": MACHINES.api_version, "kind": MACHINES.kind, "metadata": {"name": NAME}}
    made = await client.create(MACHINES, body, NAMESPACE)
    patch = {"status": {"nodeRef": {"kind": "Node", "name": node}}}
    await client.merge_patch(MACHINES, NAME, patch, NAMESPACE, "status")
    return str(made["metadata"]["uid"])


async def test_power_off_that_is_no_number_is_refused_by_the_schema(client: Client) -> None:
    body = {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {"powerOffSeconds": "long"},
    }
    with pytest.raises(Invalid, match="powerOffSeconds"):
        await client.create(REQUESTS, body, NAMESPACE)
