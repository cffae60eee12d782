"""Right before an act the worker checks if etcd of an OpenShift cluster can spare a control-plane node."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from devcluster.control_plane import ControlPlane
from health.model.observation import HoldReason
from health.model.remediation_request import NODE_NAME
from kube.client import Client
from kube.transport import Transport
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import World
from tests.support.cluster.openshift import Openshift

pytestmark = [pytest.mark.cluster, pytest.mark.rule("NHC 2.4/1/etcd", "rule 21")]

CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}


@pytest.fixture(scope="module")
async def openshift(management: Transport) -> AsyncIterator[Openshift]:
    """The control plane of this folder also looks like OpenShift, until the end of the file."""
    openshift = Openshift(Client(management))
    await openshift.make()
    await openshift.grant()
    yield openshift
    await openshift.forget()


@pytest.fixture
async def etcd(openshift: Openshift) -> AsyncIterator[Openshift]:
    yield openshift
    await openshift.empty()


@pytest.fixture
async def world(management: Transport, openshift: Openshift) -> AsyncIterator[World]:  # noqa: ARG001  its node
    """An unhealthy node of the control plane."""
    world = World(Client(management), f"test-{uuid4().hex[:8]}")
    await world.make()
    await world.patch_node(labels=CONTROL_PLANE)
    yield world
    await world.remove()


@pytest.fixture(scope="module")
async def worker(management_cluster: ControlPlane) -> AsyncIterator[WorkerActivities]:
    """The activities with the rights of the worker."""
    async with await Transport.connect(str(management_cluster.worker_kubeconfig)) as transport:
        yield WorkerActivities(transport)


async def is_held(world: World, worker: WorkerActivities, words: str) -> None:
    hold = await worker.held(world.order(), HoldReason.CONTROL_PLANE, words)
    assert hold.ask_again_seconds == 60
    assert await world.request() is None
    assert await world.lease() is None
    assert await world.control_plane_lock() is None


async def test_node_goes_while_etcd_allows_a_disruption(
    world: World, etcd: Openshift, worker: WorkerActivities
) -> None:
    await etcd.make_budget("guard", allowed=1)
    await etcd.make_guard(world.name, "True")
    assert (await worker.act(world.order())).request is not None


async def test_node_stays_while_another_one_is_disrupted(
    world: World, etcd: Openshift, worker: WorkerActivities
) -> None:
    await etcd.make_budget("guard", allowed=0)
    await etcd.make_guard(world.name, "True")
    await is_held(world, worker, "etcd allows no disruption now")


async def test_node_that_is_disrupted_itself_goes(
    world: World, etcd: Openshift, worker: WorkerActivities
) -> None:
    await etcd.make_budget("guard", allowed=0)
    await etcd.make_guard(world.name, "False")
    assert (await worker.act(world.order())).request is not None


async def test_node_goes_without_a_guard_where_others_have_one(
    world: World, etcd: Openshift, worker: WorkerActivities
) -> None:
    await etcd.make_budget("guard", allowed=0)
    await etcd.make_guard("another-node", "True")
    assert (await worker.act(world.order())).request is not None


@pytest.mark.parametrize("names", [(), ("guard", "another")], ids=["none", "two"])
async def test_node_stays_unless_there_is_one_budget(
    world: World, etcd: Openshift, worker: WorkerActivities, names: tuple[str, ...]
) -> None:
    for name in names:
        await etcd.make_budget(name, allowed=1)
    await is_held(world, worker, f"{len(names)} disruption budgets in openshift-etcd")


@pytest.mark.rule("rule 61")
async def test_arbiter_stays_while_another_member_is_disrupted(
    world: World, etcd: Openshift, worker: WorkerActivities
) -> None:
    await world.patch_node(labels=dict.fromkeys(CONTROL_PLANE) | {"node-role.kubernetes.io/arbiter": ""})
    await etcd.make_budget("guard", allowed=0)
    await etcd.make_guard(world.name, "True")
    await is_held(world, worker, "etcd allows no disruption now")


@pytest.mark.rule("NHC 2.4/1")
async def test_next_step_of_a_node_that_etcd_has_spared_asks_no_budget(
    world: World, etcd: Openshift, worker: WorkerActivities
) -> None:
    earlier = await world.make_request(name=f"{world.name}-earlier", annotations={NODE_NAME: world.name})
    await etcd.make_budget("guard", allowed=0)
    await etcd.make_guard(world.name, "True")
    assert (await worker.act(world.order(requests=(earlier,)))).request is not None


@pytest.mark.rule("rule 52")
@pytest.mark.parametrize("is_there", [True, False], ids=["of-another", "not-there"])
async def test_node_stays_where_the_request_for_which_etcd_would_have_spared_it_is_not_its_own(
    world: World, etcd: Openshift, worker: WorkerActivities, *, is_there: bool
) -> None:
    earlier = await world.make_request(
        of_another=True, name=f"{world.name}-earlier", annotations={NODE_NAME: world.name}
    )
    if not is_there:
        await world.remove_request(earlier.name)
    await etcd.make_budget("guard", allowed=0)
    await etcd.make_guard(world.name, "True")
    held = (await worker.act(world.order(requests=(earlier,)))).hold
    assert held is not None
    assert held.reason is HoldReason.CONTROL_PLANE


async def test_other_nodes_ask_no_budget(world: World, worker: WorkerActivities) -> None:
    await world.patch_node(labels=dict.fromkeys(CONTROL_PLANE))
    assert (await worker.act(world.order())).request is not None


@pytest.mark.rule("rule 3")
async def test_node_stays_while_the_budgets_may_not_be_read(
    world: World, etcd: Openshift, worker: WorkerActivities
) -> None:
    await etcd.make_budget("guard", allowed=1)
    await etcd.revoke()
    try:
        result = await worker.act(world.order())
    finally:
        await etcd.grant()
    assert result.hold is not None
    assert result.hold.reason is HoldReason.REFUSED
    assert "poddisruptionbudgets" in result.hold.message
    assert await world.request() is None
