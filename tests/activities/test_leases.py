"""Renewals of Leases, and Leases that name the uid of an earlier or a later target of the same name."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from health.model.observation import HoldReason
from health.model.references import IncidentReference
from kube.lease import CONTROL_PLANE_LOCK, LOCK, TARGET_UID, LeaseHolder, for_target, new_lease
from kube.resource import LEASES, Object
from tests.activities.machine_world import MachineWorld
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import LEASE_NAMESPACE, World
from workflows.contracts import CleanUpInput, RenewInput

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 11", "rule 13")]

CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}
TEN_MINUTES = timedelta(minutes=10)
NOT_LONG_AGO, LONG_AGO = timedelta(minutes=5), timedelta(minutes=12)


def earlier(world: World) -> IncidentReference:
    """The incident of an earlier target with the same name."""
    incident = world.incident
    return incident.model_copy(update={"target": incident.target.model_copy(update={"uid": "earlier"})})


async def leases(world: World, *names: str) -> list[Object]:
    return [await world.client.get(LEASES, name, LEASE_NAMESPACE) for name in names]


async def make_lease(world: World, name: str, holder: str, uid: str, age: timedelta = NOT_LONG_AGO) -> None:
    renewed = datetime.now(UTC) - age
    lease = new_lease(name, LEASE_NAMESPACE, holder, TEN_MINUTES, renewed, None)
    await world.client.create(LEASES, for_target(lease, LeaseHolder(holder, uid)), LEASE_NAMESPACE)


async def remove_all(world: World, *names: str) -> None:
    await asyncio.gather(*(world.client.delete(LEASES, name, LEASE_NAMESPACE) for name in names))


def lock_holder(world: World) -> str:
    return world.incident.check.lock_holder(world.name)


async def test_earlier_incident_neither_renews_nor_releases_the_lease_of_a_machine(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    world, name = machine_world, machine_world.machine_lease_name
    await make_lease(world, name, world.holder, world.machine_uid)
    before = await leases(world, name)
    await worker.renew(RenewInput(incident=earlier(world), duration_seconds=600))
    result = await worker.clean_up(CleanUpInput(incident=earlier(world), requests=()))

    assert not result.has_lease
    assert await leases(world, name) == before
    await worker.clean_up(CleanUpInput(incident=world.incident, requests=()))
    assert await world.machine_lease() is None


async def test_earlier_incident_neither_renews_nor_releases_the_lease_and_the_lock_of_a_node(
    world: World, worker: WorkerActivities
) -> None:
    names = (f"node-{world.name}", CONTROL_PLANE_LOCK)
    for name, holder in zip(names, (world.holder, lock_holder(world)), strict=True):
        await make_lease(world, name, holder, world.node_uid)
    before = await leases(world, *names)
    renewal = RenewInput(incident=earlier(world), duration_seconds=600)
    assert (await worker.renew(renewal)).acquired_at is None
    await worker.clean_up(CleanUpInput(incident=earlier(world), requests=()))

    assert await leases(world, *names) == before
    await remove_all(world, *names)


async def test_act_writes_for_which_target_it_holds_lease_and_lock(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(labels=CONTROL_PLANE)
    assert (await worker.act(world.order())).request is not None

    found = await leases(world, f"node-{world.name}", CONTROL_PLANE_LOCK)
    of_lease, of_lock = (lease["metadata"]["annotations"] for lease in found)
    assert of_lock == {TARGET_UID: world.node_uid}
    assert of_lease == of_lock | {LOCK: CONTROL_PLANE_LOCK}
    assert [lease["spec"]["holderIdentity"] for lease in found] == [world.holder, lock_holder(world)]
    await worker.clean_up(CleanUpInput(incident=world.incident, requests=()))


@pytest.mark.parametrize(
    ("of", "reason"), [("lease", HoldReason.TAKEN), ("lock", HoldReason.CONTROL_PLANE)], ids=["lease", "lock"]
)
async def test_act_waits_for_what_is_held_for_an_earlier_target_until_that_has_run_out(
    world: World, worker: WorkerActivities, of: str, reason: HoldReason
) -> None:
    await world.patch_node(labels=CONTROL_PLANE)
    name = f"node-{world.name}" if of == "lease" else CONTROL_PLANE_LOCK
    holder = world.holder if of == "lease" else lock_holder(world)
    await make_lease(world, name, holder, "earlier")
    await worker.held(world.order(), reason, "for an earlier target of this name")
    assert await world.request() is None

    await remove_all(world, name)
    await make_lease(world, name, holder, "earlier", age=LONG_AGO)
    assert (await worker.act(world.order())).request is not None
    (lease,) = await leases(world, name)
    assert lease["metadata"]["annotations"][TARGET_UID] == world.node_uid
    await worker.clean_up(CleanUpInput(incident=world.incident, requests=()))


@pytest.fixture(params=["world", "machine_world"])
def either(request: pytest.FixtureRequest) -> tuple[World, str]:
    """The world of a Node or of a Machine, with the name of its Lease."""
    world = request.getfixturevalue(request.param)
    return world, world.machine_lease_name if isinstance(world, MachineWorld) else f"node-{world.name}"


@pytest.mark.rule("NHC 1.8/duration", "NHC 2.5/manage/renew")
async def test_lease_that_would_end_too_early_is_renewed_once(
    either: tuple[World, str], worker: WorkerActivities
) -> None:
    world, name = either
    before = datetime.now(UTC) - NOT_LONG_AGO
    await world.make_lease(world.holder, before, name)
    renewal = RenewInput(incident=world.incident, duration_seconds=TEN_MINUTES.total_seconds())
    assert (await worker.renew(renewal)).acquired_at == before
    (lease,) = await leases(world, name)
    assert datetime.fromisoformat(lease["spec"]["renewTime"]) > before + timedelta(minutes=4)
    assert datetime.fromisoformat(lease["spec"]["acquireTime"]) == before
    assert lease["spec"]["leaseDurationSeconds"] == 660
    await worker.renew(renewal)
    assert await leases(world, name) == [lease]


@pytest.mark.rule("NHC 2.5/manage/not ours")
async def test_lease_of_another_is_not_renewed_and_one_that_is_gone_is_not_made_anew(
    world: World, worker: WorkerActivities
) -> None:
    renewal = RenewInput(incident=world.incident, duration_seconds=TEN_MINUTES.total_seconds())
    await worker.renew(renewal)
    assert await world.lease() is None
    await world.make_lease("another", datetime.now(UTC) - timedelta(minutes=20))
    lease = await world.lease()
    await worker.renew(renewal)
    assert await world.lease() == lease
