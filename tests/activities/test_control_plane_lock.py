"""Only one control-plane node at a time: two of them compete for one Lease."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from health.model.observation import HoldReason
from health.model.remediation_request import CONTROL_PLANE_LABEL
from health.policy.policy import KEY, POLICY
from kube.lease import CONTROL_PLANE_LOCK
from kube.resource import CONFIG_MAPS, LEASES, Object
from kube.transport import Transport
from tests.activities.clocks import Clocks, Lingering
from tests.activities.worker_activities import POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import LEASE_NAMESPACE, World
from workflows.contracts import ActResult, CleanUpInput, RenewInput

pytestmark = pytest.mark.cluster

LATE = timedelta(seconds=3)
"""Twice, for both Leases, it is too late to act, but not late enough for a timeout of the activity."""
CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}


def sign(world: World) -> str:
    """Two nodes of one check must not share the lock."""
    return f"NodeHealthCheck-{world.name}/{world.name}"


def clean_up(world: World, acted: ActResult | None = None) -> CleanUpInput:
    requests = (acted.request.reference,) if acted and acted.request else ()
    return CleanUpInput(incident=world.incident, requests=requests)


def renewal(world: World) -> RenewInput:
    return RenewInput(incident=world.incident, duration_seconds=600)


async def holder(world: World) -> str:
    lock = await world.control_plane_lock()
    return "" if lock is None else lock["holderIdentity"]


@pytest.fixture
async def first(world: World) -> World:
    await world.patch_node(labels=CONTROL_PLANE)
    return world


@pytest.fixture
async def second(world: World) -> AsyncIterator[World]:
    other = World(world.client, f"{world.name}-2")
    await other.make()
    await other.patch_node(labels=CONTROL_PLANE)
    yield other
    await other.remove()


@pytest.mark.rule("NHC 1.7/node-role", "rule 21")
async def test_control_plane_node_takes_the_lock_for_as_long_as_its_own_lease(
    first: World, worker: WorkerActivities
) -> None:
    assert (await worker.act(first.order())).request is not None
    lock, lease = await first.control_plane_lock(), await first.lease()
    assert lock["holderIdentity"] == sign(first)
    assert lock["leaseDurationSeconds"] == lease["leaseDurationSeconds"] == 660


@pytest.mark.rule("rule 61", "NHC 1.7/isControlPlaneNode")
@pytest.mark.parametrize(
    ("labels", "is_member"),
    [
        ({"node-role.kubernetes.io/etcd": "true"}, True),
        ({"node-role.kubernetes.io/controlplane": "true"}, True),
        ({"example.com/role": "consul"}, True),
        ({"example.com/role": "web"}, False),
    ],
    ids=str,
)
async def test_member_of_a_quorum_takes_the_lock_and_its_request_is_labelled(
    world: World, worker: WorkerActivities, labels: dict[str, str], *, is_member: bool
) -> None:
    await world.patch_node(labels=labels)
    body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": POLICY}}
    policy = body | {"data": {KEY: "quorumLabels: [example.com/role=consul]"}}
    await world.client.create(CONFIG_MAPS, policy, POLICY_NAMESPACE)
    try:
        assert (await worker.act(world.order())).request is not None
    finally:
        await world.client.delete(CONFIG_MAPS, POLICY, POLICY_NAMESPACE)
    request = await world.request()
    assert (CONTROL_PLANE_LABEL in request["metadata"]["labels"]) is is_member
    assert (await world.control_plane_lock() is not None) is is_member


@pytest.mark.rule("rule 61")
async def test_lock_of_a_node_whose_lease_went_with_it_is_released(
    first: World, worker: WorkerActivities
) -> None:
    acted = await worker.act(first.order())
    await first.client.delete(LEASES, f"node-{first.name}", LEASE_NAMESPACE)
    await worker.clean_up(clean_up(first, acted))
    assert await first.control_plane_lock() is None


async def test_other_nodes_need_no_lock(world: World, worker: WorkerActivities) -> None:
    await worker.act(world.order())
    assert await world.control_plane_lock() is None


@pytest.mark.rule("rule 21", "NHC 2.4/1")
async def test_second_control_plane_node_waits_and_leaves_its_node_to_others(
    first: World, second: World, worker: WorkerActivities
) -> None:
    await worker.act(first.order())
    await worker.held(second.order(), HoldReason.CONTROL_PLANE, sign(first))
    assert await second.request() is None
    assert await second.lease() is None
    assert await holder(first) == sign(first)


async def test_node_that_was_held_before_stays_held_while_its_next_step_waits_for_the_lock(
    first: World, second: World, worker: WorkerActivities
) -> None:
    await second.make_lease(second.holder, datetime.now(UTC))
    await worker.act(first.order())
    result = await worker.act(second.order(holds_lease=True))
    assert result.hold is not None
    assert await second.lease() is not None


@pytest.mark.rule("rule 21")
async def test_next_step_of_the_same_node_keeps_the_lock(first: World, worker: WorkerActivities) -> None:
    await worker.act(first.order())
    before = await first.control_plane_lock()
    assert (await worker.act(first.order())).request is not None
    lock = await first.control_plane_lock()
    assert lock["acquireTime"] == before["acquireTime"]


@pytest.mark.rule("rule 21", "NHC 2.5/release")
async def test_lock_is_given_back_with_the_lease_and_the_second_node_goes_on(
    first: World, second: World, worker: WorkerActivities
) -> None:
    acted = await worker.act(first.order())
    await worker.clean_up(clean_up(first, acted))
    assert await first.control_plane_lock() is None
    assert (await worker.act(second.order())).request is not None
    assert await holder(second) == sign(second)


@pytest.mark.rule("NHC 2.7/finalizer", "rule 21")
async def test_request_that_hangs_on_a_finalizer_keeps_the_lock(
    first: World, worker: WorkerActivities
) -> None:
    acted = await worker.act(first.order())
    await first.set_finalizer()
    await worker.clean_up(clean_up(first, acted))
    assert await holder(first) == sign(first)


async def test_lock_of_another_node_is_not_given_back(
    first: World, second: World, worker: WorkerActivities
) -> None:
    await worker.act(first.order())
    await worker.clean_up(clean_up(second))
    assert await holder(first) == sign(first)


async def test_act_that_breaks_off_after_it_took_the_lock_gives_it_back(
    first: World, worker_transport: Transport
) -> None:
    clocks = Clocks()
    worker = WorkerActivities(
        worker_transport, client=Lingering(worker_transport, LEASES, clocks, LATE, LATE)
    )
    result = await worker.act(first.order(seen_at=clocks.wall), now=clocks.now, monotonic=clocks.monotonic)
    assert result.hold is not None
    assert await first.lease() is None
    assert await first.control_plane_lock() is None


@pytest.mark.rule("rule 7/lease")
async def test_lock_is_renewed_with_the_lease(first: World, worker: WorkerActivities) -> None:
    before = datetime.now(UTC) - timedelta(minutes=5)
    await first.make_lease(first.holder, before, lock=CONTROL_PLANE_LOCK)
    await first.make_lease(sign(first), before, CONTROL_PLANE_LOCK)
    result = await worker.renew(renewal(first))
    assert result.acquired_at == before
    for lease in (await first.lease(), await first.control_plane_lock()):
        assert lease is not None
        assert datetime.fromisoformat(lease["renewTime"]) > before + timedelta(minutes=4)
        assert datetime.fromisoformat(lease["acquireTime"]) == before


async def test_lock_of_another_node_is_not_renewed(
    first: World, second: World, worker: WorkerActivities
) -> None:
    await worker.act(first.order())
    before = await first.control_plane_lock()
    await second.make_lease(second.holder, datetime.now(UTC) - timedelta(minutes=5))
    await worker.renew(renewal(second))
    assert await first.control_plane_lock() == before


async def test_lock_that_ran_out_is_taken_over(first: World, worker: WorkerActivities) -> None:
    await first.make_lease("somebody", datetime.now(UTC) - timedelta(minutes=11), CONTROL_PLANE_LOCK)
    assert (await worker.act(first.order())).request is not None
    lock = await first.control_plane_lock()
    assert (lock["holderIdentity"], lock["leaseTransitions"]) == (sign(first), 1)
