"""Acts and clean-ups by a person's order on a target that looks healthy, with the rights of the worker."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from devcluster.simulation.resources import MACHINES
from health.check.ordered import fact_of
from health.model.observation import HoldReason
from health.model.references import IncidentReference
from health.model.remediation_order import REMEDIATE, RemediationOrder
from health.policy.policy import KEY, POLICY
from kube.resource import CONFIG_MAPS, NODES, Object
from tests.activities.machine_world import MachineWorld
from tests.activities.worker_activities import POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import NAMESPACE, World
from tests.support.values.remediation_orders import annotated
from workflows.contracts import ActInput, CleanUpInput

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 2", "rule 52")]

GIVEN = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
Change = Callable[[World], Awaitable[None]]


def order_for(incident: IncidentReference, **fields: object) -> RemediationOrder:
    order = RemediationOrder(
        check=str(incident.check), reason="it hangs", given=GIVEN, until=GIVEN + timedelta(hours=1)
    )
    return order.model_copy(update=fields)


def act_of(world: World, order: RemediationOrder) -> ActInput:
    return world.order(fact=fact_of(order))


async def annotate(world: World, order: RemediationOrder) -> None:
    await world.patch_node(annotations=annotated(order))


async def nothing_was_ordered(world: World) -> None:
    await world.patch_node(annotations={REMEDIATE: None})


async def another_order_was_given(world: World) -> None:
    await annotate(world, order_for(world.incident, given=GIVEN + timedelta(seconds=1)))


async def order_is_for_another_check(world: World) -> None:
    await annotate(world, order_for(world.incident, check="NodeHealthCheck/others"))


async def order_is_unreadable(world: World) -> None:
    await world.patch_node(annotations={REMEDIATE: "now"})


async def node_is_confirmed_healthy(world: World) -> None:
    await world.patch_node(annotations={"remediation.medik8s.io/manually-confirmed-healthy": ""})


async def test_healthy_node_with_an_order_gets_its_request(world: World, worker: WorkerActivities) -> None:
    order = order_for(world.incident)
    await world.set_condition("True")
    await annotate(world, order)
    assert (await worker.act(act_of(world, order))).request is not None
    assert await world.request() is not None


@pytest.mark.parametrize(
    "change",
    [
        nothing_was_ordered,
        another_order_was_given,
        order_is_for_another_check,
        order_is_unreadable,
        node_is_confirmed_healthy,
    ],
)
async def test_healthy_node_without_that_order_stays(
    world: World, worker: WorkerActivities, change: Change
) -> None:
    """Also if a foreign workflow claims the order: only the live node counts."""
    order = order_for(world.incident)
    await world.set_condition("True")
    await annotate(world, order)
    await change(world)
    held = (await worker.act(act_of(world, order))).hold
    assert held is not None
    assert (held.reason, "no longer true" in held.message) == (HoldReason.NOT_TRUE, True)
    assert await world.request() is None
    assert await world.lease() is None


async def test_order_that_has_expired_is_not_carried_out(world: World, worker: WorkerActivities) -> None:
    order = order_for(world.incident, until=GIVEN + timedelta(seconds=30))
    await world.set_condition("True")
    await annotate(world, order)
    held = (await worker.act(act_of(world, order))).hold
    assert held is not None
    assert held.message.startswith(f"the order to remediate {world.name} is over: it expired at")
    assert await world.request() is None


async def test_policy_that_refuses_orders_by_annotation_refuses_the_act(
    world: World, worker: WorkerActivities
) -> None:
    order = order_for(world.incident)
    await world.set_condition("True")
    await annotate(world, order)
    body: Object = {"metadata": {"name": POLICY}, "data": {KEY: "ordersByAnnotation: false"}}
    await world.client.create(CONFIG_MAPS, body, POLICY_NAMESPACE)
    try:
        held = (await worker.act(act_of(world, order))).hold
    finally:
        await world.client.delete(CONFIG_MAPS, POLICY, POLICY_NAMESPACE)
    assert held is not None
    assert held.message == "the policy refuses orders by annotation"
    assert await world.request() is None


async def test_healthy_machine_with_an_order_is_deleted(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    world, order = machine_world, order_for(machine_world.incident)
    await world.set_condition("True")
    assert (await worker.act(act_of(world, order))).hold is not None
    assert not await world.is_being_deleted()
    await world.patch_machine(annotations=annotated(order))
    assert (await worker.act(act_of(world, order))).hold is None
    assert await world.is_being_deleted()


async def annotations(world: World) -> Object:
    found = await world.client.get(NODES, world.name)
    return found["metadata"].get("annotations") or {}


async def clean_up(world: World, worker: WorkerActivities, order: RemediationOrder) -> None:
    result = await worker.clean_up(CleanUpInput(incident=world.incident, requests=(), order=order))
    assert (result.failures, result.has_lease) == ((), False)


async def test_clean_up_removes_the_order_and_nothing_else(world: World, worker: WorkerActivities) -> None:
    order = order_for(world.incident)
    await annotate(world, order)
    await world.patch_node(annotations={"example.com/owner": "alice"})
    await clean_up(world, worker, order)
    await clean_up(world, worker, order)
    left = await annotations(world)
    assert REMEDIATE not in left
    assert left["example.com/owner"] == "alice"


@pytest.mark.parametrize("change", [another_order_was_given, order_is_for_another_check])
async def test_clean_up_leaves_another_order(world: World, worker: WorkerActivities, change: Change) -> None:
    await change(world)
    before = await annotations(world)
    await clean_up(world, worker, order_for(world.incident))
    assert await annotations(world) == before


async def test_clean_up_leaves_the_order_on_another_node_of_the_name(
    world: World, worker: WorkerActivities
) -> None:
    order = order_for(world.incident)
    await world.client.delete(NODES, world.name)
    await clean_up(world, worker, order)
    await world.make_node()
    await annotate(world, order)
    await clean_up(world, worker, order)
    assert REMEDIATE in await annotations(world)


async def test_clean_up_removes_the_order_from_a_machine(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    order = order_for(machine_world.incident)
    await machine_world.patch_machine(annotations=annotated(order))
    await clean_up(machine_world, worker, order)
    found = await machine_world.client.get(MACHINES, machine_world.name, NAMESPACE)
    assert REMEDIATE not in (found["metadata"].get("annotations") or {})
