"""Facts carry their age: an act happens within seconds after the observation, or not at all."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from activities.attempt import Clock
from devcluster.control_plane import ControlPlane
from health.model.observation import HoldReason
from health.model.references import Action
from kube.resource import LEASES, NODES, Resource
from kube.server_clock import ServerClock
from kube.transport import Transport
from tests.activities.clocks import Clocks, Lingering
from tests.activities.machine_world import MARK, STRATEGY, MachineWorld
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import World
from tests.support.values.builders import NOW
from workflows.contracts import ActInput, ActResult

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 4", "rule 41")]

NO_TIME = timedelta()


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@dataclass(frozen=True)
class Step:
    """One action, and the Machine that it is for."""

    world: MachineWorld
    order: Callable[..., ActInput]

    async def is_taken(self) -> bool:
        """True if one of the actions was taken."""
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
    """A check that asks for this action."""
    if request.param is Action.REQUEST:
        await machine_world.use_template()
        return Step(machine_world, machine_world.order_request)
    if request.param is Action.MARK:
        await machine_world.annotate_check(dict(STRATEGY))
        return Step(machine_world, lambda **changes: machine_world.order(step=MARK, **changes))
    return Step(machine_world, machine_world.order)


CLOCK = Clock(now=lambda: NOW, monotonic=lambda: 0.0)


@pytest.mark.parametrize(
    ("admitted", "looked"), [(6.9, 0.0), (0.0, 0.0), (-1.9, 0.0), (0.0, 4.9), (6.9, 4.9)]
)
def test_facts_of_seven_seconds_after_a_look_of_five_are_acted_on(admitted: float, looked: float) -> None:
    assert CLOCK.too_old(NOW - seconds(admitted), -looked) is None


@pytest.mark.parametrize(
    ("admitted", "looked", "why"),
    [
        (86_400.0, 0.0, "this was admitted 24h ago"),
        (7.1, 0.0, "this was admitted 7s ago"),
        (-2.1, 0.0, "this was admitted 2s ahead of the clock of this worker"),
        (None, 0.0, "the order does not say when it was admitted"),
        pytest.param(0.0, 5.1, "the revalidation took too long to act on it", id="wall clock stood still"),
        pytest.param(-60.0, 5.1, "the revalidation took too long to act on it", id="wall clock was set back"),
    ],
)
def test_facts_that_are_older_or_of_the_future_or_of_no_known_age_are_not(
    admitted: float | None, looked: float, why: str
) -> None:
    seen_at = None if admitted is None else NOW - seconds(admitted)
    assert CLOCK.too_old(seen_at, -looked) == why


async def test_old_facts_are_refused_without_a_lease(step: Step, worker: WorkerActivities) -> None:
    clocks = Clocks()
    order = step.order(seen_at=clocks.wall - seconds(7.1))
    result = await worker.act(order, now=clocks.now, monotonic=clocks.monotonic)
    await step.must_be_refused(result)
    assert await step.world.machine_lease() is None


async def test_act_that_lasts_a_while_by_both_clocks_is_done(step: Step, worker_transport: Transport) -> None:
    clocks = Clocks()
    client = Lingering(worker_transport, LEASES, clocks, seconds(6.9), seconds(4.9))
    order = step.order(seen_at=clocks.wall)
    result = await WorkerActivities(worker_transport, client=client).act(
        order, now=clocks.now, monotonic=clocks.monotonic
    )
    assert result.hold is None
    assert await step.is_taken()


@pytest.mark.parametrize(
    ("moment", "wall", "monotonic"),
    [
        pytest.param(NODES, seconds(-60), seconds(5.1), id="after-the-second-look-by-the-one-nobody-sets"),
        pytest.param(LEASES, seconds(7.1), NO_TIME, id="after-the-lease-by-the-wall-clock"),
    ],
)
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
    await worker.held(late, HoldReason.STALE_FACTS)
    assert (await world.lease(), await world.request()) == (lease, request)


@pytest.fixture
async def own_transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    """A connection of the worker with a clock that a test may change."""
    async with await Transport.connect(str(control_plane.worker_kubeconfig)) as transport:
        yield transport


@pytest.mark.parametrize("off", [seconds(-60), seconds(60)])
async def test_date_of_the_api_server_decides_where_the_wall_clock_of_the_worker_is_wrong(
    world: World, own_transport: Transport, off: timedelta
) -> None:
    own_transport.server_clock = ServerClock(lambda: datetime.now(UTC) + off)
    worker, clock = WorkerActivities(own_transport), own_transport.server_clock
    refused = await worker.act(
        world.order(seen_at=datetime.now(UTC) - seconds(9)), now=clock.now, monotonic=clock.monotonic
    )
    assert refused.hold is not None
    assert refused.hold.reason is HoldReason.STALE_FACTS
    assert await world.request() is None
    assert (await worker.act(world.order(), now=clock.now, monotonic=clock.monotonic)).request is not None


async def test_machine_that_was_paused_with_all_its_clocks_learns_the_time_from_the_api_server(
    world: World, own_transport: Transport
) -> None:
    # The clocks of the suspended machine report no time, although 21 s have passed.
    behind = seconds(-21)
    own_transport.server_clock = ServerClock(lambda: datetime.now(UTC) + behind)
    worker, clock = WorkerActivities(own_transport), own_transport.server_clock
    seen_at = datetime.now(UTC) + behind
    order = world.order(seen_at=seen_at)
    await worker.held(order, HoldReason.STALE_FACTS, now=clock.now, monotonic=clock.monotonic)
    assert await world.request() is None
