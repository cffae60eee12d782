from datetime import UTC, datetime, timedelta

import pytest

from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import World
from workflows.contracts import RenewInput

pytestmark = pytest.mark.cluster

TEN_MINUTES = timedelta(minutes=10)


def order(world: World) -> RenewInput:
    return RenewInput(incident=world.incident, duration_seconds=TEN_MINUTES.total_seconds())


@pytest.mark.rule("NHC 1.8/duration", "NHC 2.5/manage/renew")
async def test_lease_that_would_end_too_early_is_renewed(world: World, worker: WorkerActivities) -> None:
    before = datetime.now(UTC) - timedelta(minutes=5)
    await world.make_lease(world.holder, before)
    await worker.renew(order(world))
    lease = await world.lease()
    assert lease is not None
    assert datetime.fromisoformat(lease["renewTime"]) > before + timedelta(minutes=4)
    assert datetime.fromisoformat(lease["acquireTime"]) == before
    assert lease["leaseDurationSeconds"] == 660


async def test_renew_that_is_tried_again_writes_nothing(world: World, worker: WorkerActivities) -> None:
    await world.make_lease(world.holder, datetime.now(UTC) - timedelta(minutes=5))
    await worker.renew(order(world))
    lease = await world.lease()
    await worker.renew(order(world))
    assert await world.lease() == lease


@pytest.mark.rule("NHC 2.5/manage/not ours")
async def test_lease_of_another_is_not_renewed(world: World, worker: WorkerActivities) -> None:
    await world.make_lease("somebody", datetime.now(UTC) - timedelta(minutes=20))
    lease = await world.lease()
    await worker.renew(order(world))
    assert await world.lease() == lease


@pytest.mark.rule("NHC 2.5/manage/not ours")
async def test_lease_that_is_gone_is_not_made_anew(world: World, worker: WorkerActivities) -> None:
    await worker.renew(order(world))
    assert await world.lease() is None
