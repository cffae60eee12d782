"""Facts carry their age: what an act does, it does within seconds after they were seen, or not at all."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from health.model.observation import HoldReason
from health.model.references import Action
from kube.resource import LEASES, NODES, Resource
from kube.server_clock import ServerClock
from kube.transport import Transport
from tests.activities.clocks import Clocks, Lingering
from tests.activities.machine_world import MARK, STRATEGY, MachineWorld
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import World
from workflows.contracts import ActInput, ActResult

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 4", "rule 41")]

NO_TIME = timedelta()


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@dataclass(frozen=True)
class Step:
    """One action, and the Machine that it is ordered for."""

    world: MachineWorld
    order: Callable[..., ActInput]

    async def is_taken(self) -> bool:
        """Whether any of the actions was."""
        return (
            await self.world.request() is not None
            or await self.world.is_being_deleted()
            or await self.world.is_marked()
        )

    async def must_be_refused(self, result: ActResult) -> None:
        assert result.hold is not None
        assert result.hold.reason is HoldReason.STALE_FACTS
        assert result.hold.ask_again_seconds <= 2
        assert not await self.is_taken()


@pytest.fixture(params=list(Action))
async def step(request: pytest.FixtureRequest, machine_world: MachineWorld) -> Step:
    """A check that wants this action."""
    if request.param is Action.REQUEST:
        await machine_world.use_template()
        return Step(machine_world, machine_world.order_request)
    if request.param is Action.MARK:
        await machine_world.annotate_check(dict(STRATEGY))
        return Step(machine_world, lambda **changes: machine_world.order(step=MARK, **changes))
    return Step(machine_world, machine_world.order)


@pytest.mark.parametrize("age", [6.9, 0.0, -1.9])
async def test_facts_of_seven_seconds_are_acted_on(step: Step, worker: WorkerActivities, age: float) -> None:
    clocks = Clocks()
    order = step.order(seen_at=clocks.wall - seconds(age))
    result = await worker.act(order, now=clocks.now, monotonic=clocks.monotonic)
    assert result.hold is None
    assert await step.is_taken()


@pytest.mark.parametrize("age", [86_400.0, 7.1, -2.1, None])
async def test_facts_that_are_older_or_of_the_future_or_of_no_known_age_are_refused_without_a_lease(
    step: Step, worker: WorkerActivities, age: float | None
) -> None:
    clocks = Clocks()
    order = step.order(seen_at=None if age is None else clocks.wall - seconds(age))
    result = await worker.act(order, now=clocks.now, monotonic=clocks.monotonic)
    await step.must_be_refused(result)
    assert await step.world.machine_lease() is None


SUSPENDED = pytest.param(seconds(7.1), NO_TIME, id="suspended")
SET_BACK = pytest.param(seconds(-60), seconds(5.1), id="set-back")
STOPPED = pytest.param(NO_TIME, seconds(5.1), id="wall-clock-stopped")
TOO_LONG = [SUSPENDED, SET_BACK, STOPPED]
SHORT_ENOUGH = [
    pytest.param(seconds(6.9), NO_TIME, id="suspended"),
    pytest.param(NO_TIME, seconds(4.9), id="wall-clock-stopped"),
]
MOMENTS = [pytest.param(NODES, id="after-the-second-look"), pytest.param(LEASES, id="after-the-lease")]


@pytest.mark.parametrize(("wall", "monotonic"), SHORT_ENOUGH)
async def test_act_that_lasts_a_while_is_done(
    step: Step, worker_transport: Transport, wall: timedelta, monotonic: timedelta
) -> None:
    clocks = Clocks()
    worker = WorkerActivities(
        worker_transport, client=Lingering(worker_transport, LEASES, clocks, wall, monotonic)
    )
    order = step.order(seen_at=clocks.wall)
    result = await worker.act(order, now=clocks.now, monotonic=clocks.monotonic)
    assert result.hold is None
    assert await step.is_taken()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("wall", "monotonic"), TOO_LONG)
async def test_act_that_lasts_too_long_by_either_clock_is_refused_and_gives_its_lease_back(
    step: Step, worker_transport: Transport, moment: Resource, wall: timedelta, monotonic: timedelta
) -> None:
    clocks = Clocks()
    worker = WorkerActivities(
        worker_transport, client=Lingering(worker_transport, moment, clocks, wall, monotonic)
    )
    order = step.order(seen_at=clocks.wall)
    result = await worker.act(order, now=clocks.now, monotonic=clocks.monotonic)
    await step.must_be_refused(result)
    assert await step.world.machine_lease() is None


@pytest.mark.rule("rule 13/blocked")
@pytest.mark.parametrize("holds_lease", [True, False])
async def test_lease_that_was_taken_for_nothing_is_given_back_unless_the_incident_held_it_before(
    world: World, worker_transport: Transport, *, holds_lease: bool
) -> None:
    clocks = Clocks()
    lingering = Lingering(worker_transport, LEASES, clocks, seconds(7.1), seconds(7.1))
    order = world.order(seen_at=clocks.wall, holds_lease=holds_lease)
    result = await WorkerActivities(worker_transport, client=lingering).act(
        order, now=clocks.now, monotonic=clocks.monotonic
    )
    assert result.hold is not None
    assert result.hold.reason is HoldReason.STALE_FACTS
    assert (await world.lease() is not None) is holds_lease
    assert await world.request() is None


@pytest.mark.parametrize(
    ("wall", "monotonic"),
    [pytest.param(seconds(21), NO_TIME, id="suspended"), pytest.param(NO_TIME, seconds(21), id="set-back")],
)
async def test_act_that_temporal_has_given_up_leaves_the_lease_to_the_act_that_was_tried_instead(
    world: World, worker_transport: Transport, wall: timedelta, monotonic: timedelta
) -> None:
    clocks = Clocks()
    lingering = Lingering(worker_transport, LEASES, clocks, wall, monotonic)
    order = world.order(seen_at=clocks.wall)
    result = await WorkerActivities(worker_transport, client=lingering).act(
        order, now=clocks.now, monotonic=clocks.monotonic
    )
    assert result.hold is not None
    assert await world.lease() is not None
    assert await world.request() is None


async def test_act_that_begins_late_touches_nothing_of_the_act_that_was_tried_instead(
    world: World, worker: WorkerActivities
) -> None:
    late = world.order(seen_at=datetime.now(UTC) - seconds(21))
    assert (await worker.act(world.order())).request is not None
    lease, request = await world.lease(), await world.request()
    result = await worker.act(late)
    assert result.hold is not None
    assert result.hold.reason is HoldReason.STALE_FACTS
    assert (await world.lease(), await world.request()) == (lease, request)


@pytest.mark.parametrize("off", [seconds(-60), seconds(60)])
async def test_date_of_the_api_server_decides_where_the_wall_clock_of_the_worker_is_wrong(
    world: World, worker_transport: Transport, off: timedelta
) -> None:
    worker_transport.server_clock = ServerClock(lambda: datetime.now(UTC) + off)
    worker, clock = WorkerActivities(worker_transport), worker_transport.server_clock
    refused = await worker.act(
        world.order(seen_at=datetime.now(UTC) - seconds(9)), now=clock.now, monotonic=clock.monotonic
    )
    assert refused.hold is not None
    assert refused.hold.reason is HoldReason.STALE_FACTS
    assert await world.request() is None
    assert (await worker.act(world.order(), now=clock.now, monotonic=clock.monotonic)).request is not None


async def test_machine_that_was_paused_with_all_its_clocks_learns_the_time_from_the_api_server(
    world: World, worker_transport: Transport
) -> None:
    # Its guest clocks say that no time has passed, while 21 s did.
    behind = seconds(-21)
    worker_transport.server_clock = ServerClock(lambda: datetime.now(UTC) + behind)
    worker, clock = WorkerActivities(worker_transport), worker_transport.server_clock
    seen_at = datetime.now(UTC) + behind
    result = await worker.act(world.order(seen_at=seen_at), now=clock.now, monotonic=clock.monotonic)
    assert result.hold is not None
    assert result.hold.reason is HoldReason.STALE_FACTS
    assert await world.request() is None
