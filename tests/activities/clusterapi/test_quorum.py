"""Marks of members of a quorum: one at a time in each cluster, unless a control plane is asked."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from health.model.observation import HoldReason
from health.model.remediation_request import CONTROL_PLANE_LABEL
from kube.errors import NotFound
from kube.lease import lock_of, new_lease
from kube.resource import LEASES, Object
from tests.activities.clusterapi.world import ClusterApiWorld
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import LEASE_NAMESPACE, NAMESPACE
from workflows.contracts import CleanUpInput, RenewInput, TargetDisrupted

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 21", "rule 61")]

OF_ETCD = {"rke.cattle.io/etcd-role": "true"}
# The API server serves no such kind, so the garbage collector does not miss the owner.
TALOS = {"apiVersion": "controlplane.cluster.x-k8s.io/v1alpha3", "kind": "TalosControlPlane"}
OWNER = TALOS | {"name": "edge", "uid": "owner-uid", "controller": True}
MACHINE_POOL = OWNER | {"apiVersion": "example.com/v1", "kind": "MachinePool"}


@pytest.fixture
async def member(world: ClusterApiWorld) -> ClusterApiWorld:
    await world.patch_machine(labels=OF_ETCD)
    return world


def lock_name(world: ClusterApiWorld) -> str:
    return lock_of(f"{NAMESPACE}/{world.name}")


async def lock(world: ClusterApiWorld) -> Object | None:
    """The spec of the lock of its cluster; None if there is none."""
    with suppress(NotFound):
        spec: Object = (await world.client.get(LEASES, lock_name(world), LEASE_NAMESPACE))["spec"]
        return spec
    return None


async def take_lock(world: ClusterApiWorld) -> None:
    """Let another member of the cluster have the lock."""
    lease = new_lease(
        lock_name(world), LEASE_NAMESPACE, "another", timedelta(minutes=10), datetime.now(UTC), None
    )
    await world.client.create(LEASES, lease, LEASE_NAMESPACE)


async def test_member_is_marked_under_the_lock_of_its_cluster_until_it_is_cleaned_up(
    member: ClusterApiWorld, worker: WorkerActivities
) -> None:
    assert isinstance((await worker.act(member.order())).outcome, TargetDisrupted)
    taken = await lock(member)
    assert taken is not None
    assert taken["holderIdentity"] == member.incident.check.lock_holder(member.name)

    await worker.renew(RenewInput(incident=member.incident, duration_seconds=3600))
    renewed = await lock(member)
    assert renewed is not None
    assert renewed["leaseDurationSeconds"] > taken["leaseDurationSeconds"]
    await worker.clean_up(CleanUpInput(incident=member.incident, requests=()))
    assert await lock(member) is None
    assert await member.lease() is None


async def test_lock_of_a_member_that_is_gone_gives_its_replacement_a_minute_to_appear(
    member: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await worker.act(member.order())
    await worker.clean_up(CleanUpInput(incident=member.incident, requests=(), is_gone=True))
    left = await lock(member)
    assert left is not None
    assert left["leaseDurationSeconds"] == 60
    assert datetime.fromisoformat(left["renewTime"]) <= datetime.now(UTC)
    assert await member.lease() is None


async def test_member_is_not_marked_while_another_one_of_its_cluster_has_the_lock(
    member: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await take_lock(member)
    hold = (await worker.act(member.order())).hold
    assert hold is not None
    assert (hold.reason, hold.message) == (
        HoldReason.CONTROL_PLANE,
        "one member of a quorum at a time: another has the lock",
    )
    assert not await member.is_marked()
    assert await member.lease() is None


@pytest.mark.rule("rule 61/owner")
@pytest.mark.parametrize(("owner", "is_marked"), [(OWNER, True), (MACHINE_POOL, False)])
async def test_lock_does_not_matter_to_a_mark_that_asks_a_control_plane(
    member: ClusterApiWorld, worker: WorkerActivities, owner: Object, *, is_marked: bool
) -> None:
    await member.patch_machine(ownerReferences=[owner])
    await take_lock(member)
    await worker.act(member.order())
    assert await member.is_marked() is is_marked


@pytest.mark.rule("rule 61/owner")
async def test_request_for_a_machine_of_a_control_plane_is_made_under_the_lock_and_labelled(
    member: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await member.use_template()
    await member.patch_machine(ownerReferences=[OWNER])
    assert (await worker.act(member.order_request())).request is not None
    request = await member.request()
    assert request["metadata"]["labels"][CONTROL_PLANE_LABEL] == ""
    assert await lock(member) is not None


async def test_worker_needs_no_lock(world: ClusterApiWorld, worker: WorkerActivities) -> None:
    await worker.act(world.order())
    assert await lock(world) is None
