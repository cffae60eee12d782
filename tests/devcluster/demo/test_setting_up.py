"""The scenarios may follow each other on one directory: each takes away what would stop it."""

from collections.abc import AsyncIterator

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.demo import fixtures
from devcluster.demo.cluster_view import ClusterView, OpenShiftView
from devcluster.demo.fixtures import remove
from devcluster.demo.narrator import seen
from devcluster.simulation.resources import MACHINE_SETS, NODE_HEALTH_CHECKS, TEMPLATES
from kube.client import Client
from kube.errors import NotFound
from kube.resource import Object
from kube.transport import Transport

pytestmark = pytest.mark.cluster


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport, "test")
        yield client
        await remove(client, NODE_HEALTH_CHECKS, fixtures.CHECK)
        for resource in (fixtures.CHECKS, MACHINE_SETS, TEMPLATES):
            await remove(client, resource, fixtures.CHECK, fixtures.NAMESPACE)


async def machine_check(client: Client) -> Object:
    return await client.get(fixtures.CHECKS, fixtures.CHECK, fixtures.NAMESPACE)


async def test_each_scenario_takes_the_check_of_the_other_one_away(client: Client) -> None:
    nodes = ClusterView(client)
    machines = OpenShiftView(client, nodes)
    await seen(nodes.set_up)
    await seen(machines.set_up)
    with pytest.raises(NotFound):
        await client.get(NODE_HEALTH_CHECKS, fixtures.CHECK)
    assert "remediationTemplate" not in (await machine_check(client))["spec"]
    await seen(nodes.set_up)
    with pytest.raises(NotFound):
        await machine_check(client)
    assert await client.get(NODE_HEALTH_CHECKS, fixtures.CHECK)


async def test_machines_are_deleted_first_also_where_an_earlier_demo_named_a_template(
    client: Client,
) -> None:
    machines = OpenShiftView(client, ClusterView(client))
    await seen(machines.set_up)
    await machines.name_template()
    assert (await machine_check(client))["spec"]["remediationTemplate"]["kind"] == TEMPLATES.kind
    await seen(machines.set_up)
    assert "remediationTemplate" not in (await machine_check(client))["spec"]
