from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devcluster.polling import until
from devcluster.simulation.control_socket import Answer, serve
from devcluster.simulation.remediator import NODE_NAME, remediate
from devcluster.simulation.resources import MACHINES, REQUESTS
from kube.client import Client
from kube.errors import Invalid, NotFound
from kube.transport import Transport
from tests.devcluster.running import running

pytestmark = pytest.mark.cluster

NAMESPACE = "default"
NAME = "request-of-a-test"


class Machines:
    """Stands in for the simulated machines behind the control socket."""

    def __init__(self) -> None:
        self.boot_id = "boot-1"
        self.power_cycles = 0

    async def handle(self, fields: Any) -> Answer:
        if "power_cycle" in fields:
            self.power_cycles += 1
            self.boot_id = f"boot-{self.power_cycles + 1}"
            return {"node": {}}
        return {"nodes": [{"name": "node-3", "boot_id": self.boot_id, "state": "running"}]}


@pytest.fixture
def machines() -> Machines:
    return Machines()


@pytest.fixture
async def client(transport: Transport) -> AsyncIterator[Client]:
    client = Client(transport)
    yield client
    try:
        await client.delete(REQUESTS, NAME, NAMESPACE)
    except NotFound:
        return


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


async def test_requested_node_is_power_cycled_once(
    transport: Transport, client: Client, control: Path, machines: Machines
) -> None:
    async with serve(control, machines.handle), running(remediate(transport, control)):
        await request(client, "node-3")
        await wait_for(client, "Succeeded", "True")
    assert machines.power_cycles == 1
    assert (await conditions(client))["Processing"] == "False"


async def test_spec_gets_its_default_where_the_request_has_none(client: Client) -> None:
    await request(client, "node-3")
    assert (await client.get(REQUESTS, NAME, NAMESPACE))["spec"] == {"powerOffSeconds": 2}


async def test_restarted_remediator_does_not_power_cycle_again_what_has_booted_since(
    transport: Transport, client: Client, control: Path, machines: Machines
) -> None:
    async with running(remediate(transport, control)):
        await request(client, "node-3")
    await client.merge_patch(
        REQUESTS, NAME, {"status": {"bootIDBefore": "boot-0"}}, NAMESPACE, subresource="status"
    )
    async with serve(control, machines.handle), running(remediate(transport, control)):
        await wait_for(client, "Succeeded", "True")
    assert machines.power_cycles == 0


async def test_request_waits_for_kubelets_that_are_away(
    transport: Transport, client: Client, control: Path, machines: Machines
) -> None:
    async with running(remediate(transport, control)):
        await request(client, "node-3")
        assert await conditions(client) == {}
        async with serve(control, machines.handle):
            await wait_for(client, "Succeeded", "True")


async def test_request_for_an_unknown_node_fails_with_the_reason(
    transport: Transport, client: Client, control: Path, machines: Machines
) -> None:
    async with serve(control, machines.handle), running(remediate(transport, control)):
        await request(client, "node-9")
        await wait_for(client, "Succeeded", "False")
    assert {c["reason"] for c in (await status(client))["conditions"]} == {"NodeNotFound"}
    assert machines.power_cycles == 0


async def test_request_named_as_a_machine_power_cycles_the_node_of_that_machine(
    transport: Transport, client: Client, control: Path, machines: Machines
) -> None:
    uid = await machine(client, node="node-3")
    owner = {"apiVersion": MACHINES.api_version, "kind": MACHINES.kind, "name": NAME, "uid": uid}
    metadata = {"name": NAME, "namespace": NAMESPACE, "ownerReferences": [owner]}
    body = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind, "metadata": metadata}
    try:
        async with serve(control, machines.handle), running(remediate(transport, control)):
            await client.create(REQUESTS, body, NAMESPACE)
            await wait_for(client, "Succeeded", "True")
            nodes = {c["message"].split()[0] for c in (await status(client))["conditions"]}
    finally:  # takes the request along: the garbage collector goes by its owner
        await client.delete(MACHINES, NAME, NAMESPACE)
    assert machines.power_cycles == 1
    assert nodes == {"node-3"}


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
