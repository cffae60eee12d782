"""Marks of a Machine for its owner, on a real API server, and the reasons not to mark it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from activities.clusterapi.kind import TRIES
from health.model.observation import HoldReason
from kube.errors import Forbidden
from kube.resource import NODES, SECRETS
from kube.transport import Transport
from tests.activities.clusterapi.world import FOREIGN, ClusterApiWorld, ready
from tests.activities.overtaken import Change, Overtaken, PatchesAnswered
from tests.activities.worker_activities import WorkerActivities
from tests.support.api.kubeconfigs import TOKEN
from workflows.contracts import ActResult, TargetDisrupted

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 2")]

Happens = Callable[[ClusterApiWorld], Awaitable[None]]
DONE = ready("OwnerRemediated")


@asynccontextmanager
async def overtaken(
    management: Transport, world: ClusterApiWorld, *changes: Change
) -> AsyncIterator[WorkerActivities]:
    """A worker for which another writer makes one change after each of its reads of a Machine."""
    made = WorkerActivities(management, client=Overtaken(management, world.machines, *changes))
    async with made.workload_clusters:
        yield made


@pytest.mark.rule(
    "CAPI B.2.5/mark", "CAPI B.2.6/fields", "CAPI B.1/condition/OwnerRemediated", "CAPI B.1/condition/others"
)
async def test_owner_is_asked_in_one_write_under_the_lease_of_the_machine_and_others_say_on(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await world.patch_status(conditions=FOREIGN)
    before = int((await world.machine())["metadata"]["resourceVersion"])
    result = await worker.act(world.order())

    assert isinstance(result.outcome, TargetDisrupted)
    assert result.outcome.lease_acquired_at is not None
    assert await world.lease() is not None
    after = await world.machine()
    assert int(after["metadata"]["resourceVersion"]) > before
    assert [condition for condition in after["status"]["conditions"] if condition in FOREIGN] == FOREIGN
    now = await world.conditions()
    asked, failed = now["OwnerRemediated"], now["HealthCheckSucceeded"]
    assert (asked["status"], asked["reason"]) == ("False", "WaitingForRemediation")
    assert (failed["status"], failed["reason"]) == ("False", "UnhealthyNode")
    assert "Condition Ready on Node is reporting status False" in failed["message"]
    twins = await world.conditions("deprecated", "v1beta1")
    assert {twins[one]["severity"] for one in ("OwnerRemediated", "HealthCheckSucceeded")} == {"Warning"}


@pytest.mark.rule("CAPI B.2.5/mark again")
async def test_attempt_that_is_made_again_changes_nothing(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await worker.act(world.order())
    before = await world.machine()
    assert await worker.act(world.order()) == ActResult.disrupted()
    assert await world.machine() == before


@pytest.mark.rule("CAPI B.2.5/mark again")
async def test_owner_that_was_done_with_an_earlier_mark_is_asked_again(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await world.patch_status(conditions=[DONE])
    await worker.act(world.order())
    assert (await world.conditions())["OwnerRemediated"]["status"] == "False"


@pytest.mark.rule("CAPI B.2.5/mark again", "CAPI B.2.5/taken back by nobody")
async def test_condition_of_the_owner_about_a_mark_stays(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    deferred = DONE | {"status": "False", "reason": "RemediationDeferred", "message": "not now"}
    await world.patch_status(conditions=[deferred])
    before = await world.machine()
    assert await worker.act(world.order()) == ActResult.disrupted()
    assert await world.machine() == before


@pytest.mark.rule("CAPI B.2.5/deleting", "CAPI B.2.5/no deletion")
async def test_machine_that_is_being_deleted_is_not_marked(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await world.client.delete(world.machines, world.name, "default")
    assert await worker.act(world.order()) == ActResult.disrupted()
    assert not await world.is_marked()


@pytest.mark.rule("CAPI B.1/condition/others", "rule 2/preconditions")
async def test_writers_that_come_in_between_lose_nothing_and_the_mark_is_made_again(
    world: ClusterApiWorld, management: Transport
) -> None:
    def writes(number: int) -> Change:
        async def write() -> None:
            await world.patch_status(conditions=FOREIGN[: number + 1])

        return write

    # Between the revalidation and the read of the conditions, then twice between that read and the write.
    async with overtaken(management, world, writes(0), writes(1), writes(2)) as worker:
        result = await worker.act(world.order())
    assert isinstance(result.outcome, TargetDisrupted)
    found = (await world.machine())["status"]["conditions"]
    assert [condition for condition in found if condition in FOREIGN] == FOREIGN
    assert await world.is_marked()


@pytest.mark.rule("rule 2/preconditions")
async def test_machine_that_changes_all_the_time_is_a_hold_and_its_lease_is_given_back(
    world: ClusterApiWorld, management: Transport
) -> None:
    async def writes() -> None:
        await world.patch_machine(annotations={"somebody": str(await world.machine())[:100]})
        await world.patch_machine(annotations={"somebody": None})

    async with overtaken(management, world, _nothing, *(writes,) * TRIES) as worker:
        await _is_held(world, worker, HoldReason.NOT_TRUE, f"changed during each of {TRIES} tries")


@pytest.mark.rule("rule 2/preconditions")
@pytest.mark.parametrize(
    ("happens", "words"),
    [
        pytest.param(ClusterApiWorld.make_machine_anew, "has another uid now", id="another of its name"),
        pytest.param(ClusterApiWorld.remove_machine, "is gone", id="gone"),
        pytest.param(
            lambda world: world.annotate_machine("skip-remediation"), "no longer selects", id="skip"
        ),
    ],
)
async def test_machine_that_became_another_between_look_and_mark_is_judged_as_it_is(
    world: ClusterApiWorld, management: Transport, happens: Happens, words: str
) -> None:
    async def change() -> None:
        await happens(world)

    async with overtaken(management, world, _nothing, change) as worker:
        await worker.held(world.order(), HoldReason.NOT_TRUE, words)
    assert await world.lease() is None


async def _recovers(world: ClusterApiWorld) -> None:
    world.node("True")


async def _gate_closes(world: ClusterApiWorld) -> None:
    await world.patch_cluster(conditions=[ready("ControlPlaneInitialized")])


async def _cluster_of_an_ordered_machine_is_gone(world: ClusterApiWorld) -> None:
    await world.annotate_machine("remediate-machine")
    await world.remove_cluster()


@pytest.mark.rule("CAPI B.2.7/nothing", "CAPI B.2.2/no Cluster", "rule 2")
@pytest.mark.parametrize(
    ("happens", "words"),
    [
        pytest.param(_recovers, "no longer true", id="recovered"),
        pytest.param(ClusterApiWorld.pause_check, "annotation", id="paused check"),
        pytest.param(
            ClusterApiWorld.pause_cluster, "Cluster spec.paused is set to true", id="paused Cluster"
        ),
        pytest.param(ClusterApiWorld.remove_cluster, "is gone", id="no Cluster"),
        pytest.param(_cluster_of_an_ordered_machine_is_gone, "is gone", id="ordered, no Cluster"),
        pytest.param(_gate_closes, "no longer true", id="infrastructure not ready"),
        pytest.param(ClusterApiWorld.use_template, "was edited", id="a template"),
    ],
)
async def test_nothing_is_written_where_what_admitted_it_is_over(
    world: ClusterApiWorld, worker: WorkerActivities, happens: Happens, words: str
) -> None:
    await happens(world)
    await _is_held(world, worker, HoldReason.NOT_TRUE, words)


@pytest.mark.rule("CAPI B.2.3/Node gone", "rule 33")
async def test_node_is_looked_for_in_the_workload_cluster(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    # A Node with the same name in the management cluster says nothing about it.
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": world.name}}
    await world.client.create(NODES, body)
    world.node("")
    gone = world.order().fact.model_copy(update={"condition": "Node", "status": "gone", "is_moving": True})
    result = await worker.act(world.order(fact=gone))
    await world.client.delete(NODES, world.name)
    assert isinstance(result.outcome, TargetDisrupted)
    assert (await world.conditions())["HealthCheckSucceeded"]["reason"] == "NodeDeleted"
    asked = world.workload.asked[-1]
    assert (asked.path, asked.headers["Authorization"]) == (NODES.path(name=world.name), f"Bearer {TOKEN}")


@pytest.mark.rule("rule 33/refused", "rule 33/credentials")
async def test_kubeconfig_that_is_missing_or_unusable_holds_with_a_sentence_and_without_credentials(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await world.make_kubeconfig(token=TOKEN, tokenFile="/var/run/secrets/token")
    unusable = await worker.act(world.order())
    await world.remove_kubeconfig()
    missing = await worker.act(world.order())
    for result in (unusable, missing):
        assert result.hold is not None
        assert f"{world.name}-kubeconfig" in result.hold.message
        assert TOKEN not in result.model_dump_json()
    assert unusable.hold is not None
    assert "tokenFile" in unusable.hold.message
    assert not await world.is_marked()
    assert await world.lease() is None


@pytest.mark.rule("rule 33/rotated")
async def test_kubeconfig_that_comes_later_is_used_at_once(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    found = await world.client.get(SECRETS, f"{world.name}-kubeconfig", "default")
    assert found["data"]["value"]
    await world.remove_kubeconfig()
    assert (await worker.act(world.order())).hold is not None
    await world.make_kubeconfig()
    assert isinstance((await worker.act(world.order())).outcome, TargetDisrupted)


@pytest.mark.rule("rule 33/unreachable")
async def test_nothing_is_done_while_the_workload_cluster_does_not_answer(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await world.workload.stop()
    assert (await worker.act(world.order())).hold is not None
    assert not await world.is_marked()


async def test_mark_that_is_refused_is_reported(world: ClusterApiWorld, management: Transport) -> None:
    client = PatchesAnswered(management, world.machines, Forbidden("Machines stay."))
    worker = WorkerActivities(management, client=client)
    async with worker.workload_clusters:
        await _is_held(world, worker, HoldReason.REFUSED, "Machines stay.")
    (event,) = await world.events()
    assert (event["type"], event["reason"]) == ("Warning", "RemediationRestricted")
    assert event["message"].endswith("it cannot be marked for its owner: Machines stay.")


async def _nothing() -> None: ...


async def _is_held(world: ClusterApiWorld, worker: WorkerActivities, reason: HoldReason, words: str) -> None:
    await worker.held(world.order(), reason, words)
    assert not await world.is_marked()
    assert await world.lease() is None
