"""The Machine of a node becomes an owner of its request."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from kube.client import Client
from kube.errors import TooManyRequests
from kube.resource import Object, Resource
from kube.transport import Transport
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

MACHINES = Resource("machine.openshift.io/v1beta1", "Machine", "machines", namespaced=True)
ANNOTATION = "machine.openshift.io/machine"


@pytest.fixture
async def machines(control_plane: ControlPlane) -> AsyncIterator[Client]:
    """Makes Machines, which are gone after the test."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport, "end-to-end-test")

        async def is_served() -> bool:
            try:
                await client.list(MACHINES)
            except TooManyRequests:  # the API server has just got the CRD
                return False
            return True

        await until(is_served, within=timedelta(seconds=60), otherwise="Machines are not served")
        yield client
        for machine in await client.list(MACHINES):
            await client.delete(MACHINES, machine["metadata"]["name"], machine["metadata"]["namespace"])


async def add_machine(client: Client, name: str, namespace: str) -> str:
    """A Machine; answers its uid."""
    body: Object = {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "metadata": {"name": name, "namespace": namespace},
    }
    return str((await client.create(MACHINES, body, namespace))["metadata"]["uid"])


@pytest.mark.rule("NHC 1.7/machine", "NHC 2.4/3/owners")
async def test_machine_of_a_node_owns_its_request_too_where_both_are_in_one_namespace(
    world: World, machines: Client
) -> None:
    nodes = await world.add_named_nodes("here", "elsewhere", "missing", "without")
    await world.add_check()
    uid = await add_machine(machines, nodes["here"], "default")
    await add_machine(machines, nodes["elsewhere"], "kube-public")
    await world.set_annotation(nodes["here"], ANNOTATION, f"default/{nodes['here']}")
    await world.set_annotation(nodes["elsewhere"], ANNOTATION, f"kube-public/{nodes['elsewhere']}")
    await world.set_annotation(nodes["missing"], ANNOTATION, f"default/{nodes['missing']}")

    await world.fail(*nodes.values())
    await world.until_requested(*nodes.values())

    check = {
        "apiVersion": "remediation.medik8s.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "name": world.name,
        "uid": (await world.check())["metadata"]["uid"],
        "controller": False,
    }
    machine = {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "name": nodes["here"],
        "uid": uid,
    }
    owners = {
        suffix: (await world.request(node))["metadata"]["ownerReferences"] for suffix, node in nodes.items()
    }
    assert owners == {
        "here": [check, machine],
        "elsewhere": [check],
        "missing": [check],
        "without": [check],
    }
    await world.recover(*nodes.values())
    await world.until_clean(*nodes.values())
