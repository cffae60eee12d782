"""A control-plane node that etcd of an OpenShift cluster cannot spare stays, and people read why."""

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import NAMESPACES, NODES
from kube.transport import Transport
from tests.activities.openshift import BUDGETS, ETCD, Openshift
from tests.end_to_end.cluster_context.openshift import OpenShift, openshift_of
from tests.end_to_end.pairs import Pairs
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@pytest.fixture(scope="module")
async def openshift(control_plane: ControlPlane, pairs: Pairs) -> AsyncIterator[OpenShift]:
    """ClusterVersions are served, from before our processes start until they have ended."""
    await pairs.stop()
    async with openshift_of(control_plane) as made:
        await made.serve_cluster_versions()
        await made.set_progressing("False")
        yield made
        await pairs.stop()


@pytest.fixture
async def etcd(control_plane: ControlPlane, openshift: OpenShift) -> AsyncIterator[Openshift]:  # noqa: ARG001  it is of OpenShift
    """Its namespace, which our worker may read, without a budget yet."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        made = Openshift(Client(transport))
        with suppress(AlreadyExists):
            await made.client.create(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ETCD}}
            )
        await made.grant()
        yield made
        await made.empty()
        await made.revoke()


@pytest.mark.rule("NHC 2.4/1", "NHC 1.5/RemediationSkipped/control plane", "rule 15", "rule 21")
async def test_node_that_etcd_cannot_spare_is_told_once_and_remediated_when_it_can(
    etcd: Openshift, world: World
) -> None:
    (node,) = await world.add_nodes(1)
    await world.client.merge_patch(NODES, node, {"metadata": {"labels": {CONTROL_PLANE: ""}}})
    await etcd.make_budget("guard", allowed=0)
    await etcd.make_guard(node, "True")
    await world.add_check()
    await world.fail(node)

    words = (
        f"[remediation] Skipping remediation of {node} for preventing control plane / etcd quorum loss, "
        "going to retry in a minute"
    )
    told = ("Warning", "RemediationSkipped", words)

    async def is_told() -> bool:
        return told in await world.events()

    await world.until(is_told, f"{told} was never told")
    await world.until_phase(node, "Held")
    assert "etcd allows no disruption now" in (await world.state(node)).details
    assert world.requests.created(node) == 0

    await etcd.client.merge_patch(
        BUDGETS, "guard", {"status": {"disruptionsAllowed": 1}}, ETCD, subresource="status"
    )
    await (await world.workflow(node)).signal("wake")
    await world.until_requested(node)
    assert (await world.events()).count(told) == 1
