"""Clean-ups: each request, the Lease and the confirmation of a person go, and a failure stops no other.

A request with an uncertain owner may change between the read and the deletion.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from activities.requests import TRIES
from health.model.node import CONFIRMED_HEALTHY
from health.model.references import RequestReference
from health.model.remediation_request import INCIDENT, NODE_NAME, TARGET_UID
from health.model.task_subject import OF_CONFIRMATION, OF_LEASE, TaskSubject
from health.runbook.failures import removing_confirmation
from kube.errors import Forbidden
from kube.resource import NODES, Object
from kube.transport import Transport
from tests.activities.dead_webhook import dead_webhook
from tests.activities.machine_world import MachineWorld
from tests.activities.overtaken import Change, Keeps, Overtaken, PatchesAnswered
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import DEMO, FINALIZER, NAMESPACE, REQUESTS, World
from workflows.contracts import CleanUpInput, CleanUpResult

pytestmark = pytest.mark.cluster


def order(
    world: World, *requests: RequestReference, is_confirmed: bool = False, doubtful: tuple[str, ...] = ()
) -> CleanUpInput:
    return CleanUpInput(
        incident=world.incident, requests=requests, is_confirmed=is_confirmed, doubtful=doubtful
    )


async def annotations_of_the_node(world: World) -> dict[str, str]:
    node = await world.client.get(NODES, world.name)
    texts: dict[str, str] = node["metadata"].get("annotations") or {}
    return texts


@pytest.mark.rule("NHC 2.1/13", "NHC 2.5/release")
async def test_request_of_an_act_is_cleaned_up(world: World, worker: WorkerActivities) -> None:
    made = await worker.requested(world.order())
    result = await worker.clean_up(order(world, made.reference))
    assert result.remaining == ()
    assert await world.request() is None
    assert await world.lease() is None


async def test_clean_up_that_is_tried_again_is_harmless(world: World, worker: WorkerActivities) -> None:
    made = await worker.requested(world.order())
    for _ in range(2):
        assert (await worker.clean_up(order(world, made.reference))).remaining == ()


@pytest.mark.rule("NHC 2.8/deletion", "rule 2/preconditions")
async def test_request_that_another_client_created_again_is_left_alone(
    world: World, worker: WorkerActivities
) -> None:
    ours = await world.make_request()
    await world.remove_request(world.name)
    theirs = await world.make_request(of_another=True)
    assert (await worker.clean_up(order(world, ours))).remaining == ()
    found = await world.request()
    assert found["metadata"]["uid"] == theirs.uid
    assert "deletionTimestamp" not in found["metadata"]


@pytest.mark.rule("NHC 2.8/deletion")
async def test_request_that_the_check_owns_no_more_is_left_alone(
    world: World, worker: WorkerActivities
) -> None:
    theirs = await world.make_request(of_another=True)
    assert (await worker.clean_up(order(world, theirs, doubtful=(theirs.uid,)))).remaining == ()
    found = await world.request()
    assert "deletionTimestamp" not in found["metadata"]


@pytest.mark.rule("NHC 2.8/deletion")
async def test_request_of_ours_that_the_detector_does_not_see_is_deleted(
    world: World, worker: WorkerActivities
) -> None:
    ours = await world.make_request()
    assert (await worker.clean_up(order(world, ours, doubtful=(ours.uid,)))).remaining == ()
    assert await world.request() is None


@pytest.mark.rule("NHC 2.5/release", "NHC 2.7/finalizer")
async def test_request_with_a_finalizer_remains_and_keeps_the_lease(
    world: World, worker: WorkerActivities
) -> None:
    made = await worker.requested(world.order())
    await world.set_finalizer()
    for _ in range(2):
        assert (await worker.clean_up(order(world, made.reference))).remaining == (made.reference,)
        assert await world.lease() is not None
    found = await world.request()
    assert "deletionTimestamp" in found["metadata"]

    await world.remove_request(world.name)
    assert (await worker.clean_up(order(world, made.reference))).remaining == ()
    assert await world.lease() is None


async def test_one_finalizer_does_not_keep_the_other_requests(world: World, worker: WorkerActivities) -> None:
    hanging = await world.make_request(finalizers=(FINALIZER,))
    gone = hanging.model_copy(update={"name": f"{world.name}-gone", "uid": "gone"})
    assert (await worker.clean_up(order(world, hanging, gone))).remaining == (hanging,)


async def test_requests_whose_kind_or_group_is_gone_are_gone(world: World, worker: WorkerActivities) -> None:
    unknown = [
        RequestReference(
            api_version=api_version, kind="UnheardOf", namespace=NAMESPACE, name=world.name, uid=api_version
        )
        for api_version in (DEMO, "nowhere.example.com/v1")
    ]
    await world.make_lease(world.holder, datetime.now(UTC))
    assert (await worker.clean_up(order(world, *unknown))).remaining == ()
    assert await world.lease() is None


@pytest.mark.rule("NHC 1.7/manually-confirmed-healthy", "NHC 2.6/confirmed")
async def test_confirmation_that_the_node_is_healthy_goes_with_the_last_request(
    world: World, worker: WorkerActivities
) -> None:
    made = await worker.requested(world.order())
    await world.patch_node(annotations={CONFIRMED_HEALTHY: "yes", "kept": "yes"})
    await world.set_finalizer()
    await worker.clean_up(order(world, made.reference, is_confirmed=True))
    assert CONFIRMED_HEALTHY in await annotations_of_the_node(world)

    await world.remove_request(world.name)
    await worker.clean_up(order(world, made.reference, is_confirmed=True))
    assert await annotations_of_the_node(world) == {"kept": "yes"}
    assert await world.lease() is None


async def test_unseen_confirmation_is_left_for_the_next_look(world: World, worker: WorkerActivities) -> None:
    await world.patch_node(annotations={CONFIRMED_HEALTHY: ""})
    await worker.clean_up(order(world))
    assert CONFIRMED_HEALTHY in await annotations_of_the_node(world)


@pytest.mark.rule("rule 11/recreated")
async def test_confirmation_of_another_node_of_the_name_is_left_alone(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={CONFIRMED_HEALTHY: "yes"})
    target = world.incident.target.model_copy(update={"uid": "an-earlier-node"})
    incident = world.incident.model_copy(update={"target": target})
    await world.make_lease(world.holder, datetime.now(UTC))
    await worker.clean_up(CleanUpInput(incident=incident, requests=(), is_confirmed=True))
    assert await annotations_of_the_node(world) == {CONFIRMED_HEALTHY: "yes"}
    assert await world.lease() is None


async def test_confirmation_of_a_node_that_is_gone_stops_nothing(
    world: World, worker: WorkerActivities
) -> None:
    await world.make_lease(world.holder, datetime.now(UTC))
    await world.client.delete(NODES, world.name)
    await worker.clean_up(order(world, is_confirmed=True))
    assert await world.lease() is None


@pytest.mark.rule("NHC 2.5/release")
async def test_lease_alone_is_given_back(world: World, worker: WorkerActivities) -> None:
    await world.make_lease(world.holder, datetime.now(UTC))
    await worker.clean_up(order(world))
    assert await world.lease() is None


async def test_lease_of_another_is_left_alone(world: World, worker: WorkerActivities) -> None:
    await world.make_lease("somebody", datetime.now(UTC))
    await worker.clean_up(order(world))
    lease = await world.lease()
    assert lease["holderIdentity"] == "somebody"


async def test_lease_that_is_not_released_is_answered(
    world: World, worker_in_the_dark: WorkerActivities
) -> None:
    result = await worker_in_the_dark.clean_up(order(world))
    (failure,) = result.failures
    assert (failure.subject, failure.what) == (OF_LEASE, f"release the Lease of {world.incident.target}")
    assert result.has_lease


def writing(world: World, text: str) -> Change:
    """A change that a remediator makes all the time."""

    async def change() -> None:
        body: Object = {"metadata": {"annotations": {"remediator": text}}}
        await world.client.merge_patch(REQUESTS, world.name, body, NAMESPACE)

    return change


async def clean_up_overtaken(
    world: World, transport: Transport, of: RequestReference, *changes: Change
) -> CleanUpResult:
    """Clean up a request with an uncertain owner, which changes after each read."""
    worker = WorkerActivities(transport, client=Overtaken(transport, REQUESTS, *changes))
    return await worker.clean_up(order(world, of, doubtful=(of.uid,)))


@pytest.mark.rule("NHC 2.8/deletion", "rule 2/preconditions")
async def test_request_that_changes_is_looked_at_again_and_deleted(
    world: World, worker_transport: Transport
) -> None:
    ours = await world.make_request()
    result = await clean_up_overtaken(world, worker_transport, ours, writing(world, "at work"))
    assert result.remaining == ()
    assert await world.request() is None


async def give_away(world: World) -> None:
    owner = {"apiVersion": "v1", "kind": NODES.kind, "name": world.name, "uid": world.node_uid}
    body: Object = {"metadata": {"ownerReferences": [owner]}}
    await world.client.merge_patch(REQUESTS, world.name, body, NAMESPACE)


async def make_anew(world: World) -> None:
    await world.remove_request(world.name)
    await world.make_request()


@pytest.mark.rule("NHC 2.8/deletion", "rule 2/preconditions")
@pytest.mark.parametrize("change", [give_away, make_anew])
async def test_request_that_becomes_that_of_another_meanwhile_is_kept(
    world: World, worker_transport: Transport, change: Callable[[World], Awaitable[None]]
) -> None:
    ours = await world.make_request()
    result = await clean_up_overtaken(world, worker_transport, ours, lambda: change(world))
    assert result.remaining == ()
    found = await world.request()
    assert (found["metadata"]["uid"] == ours.uid) is (change is give_away)
    assert "deletionTimestamp" not in found["metadata"]


@pytest.mark.rule("NHC 2.8/deletion", "rule 2/preconditions")
async def test_request_that_changes_all_the_time_is_left_to_the_next_try(
    world: World, worker_transport: Transport
) -> None:
    ours = await world.make_request()
    changes = [writing(world, str(number)) for number in range(TRIES)]
    result = await clean_up_overtaken(world, worker_transport, ours, *changes)
    (failure,) = result.failures
    assert (failure.subject, failure.what) == (TaskSubject.of_request(ours.uid), f"delete {ours}")
    assert result.has_lease
    assert await world.request() is not None


@pytest.mark.rule("rule 47", "rule 47/403")
async def test_request_that_may_not_be_deleted_keeps_the_lease_and_no_other_request(
    world: World, worker_transport: Transport
) -> None:
    request = await world.make_request()
    kept = await world.make_request(name=f"{world.name}-kept", annotations={NODE_NAME: world.name})
    await world.make_lease(world.holder, datetime.now(UTC))
    worker = WorkerActivities(worker_transport, client=Keeps(worker_transport, kept.name))
    result = await worker.clean_up(order(world, kept, request))
    assert (await world.request() or {})["metadata"]["uid"] == kept.uid
    (failure,) = result.failures
    assert failure.is_refused
    assert (failure.subject, failure.what) == (
        TaskSubject.of_request(kept.uid),
        f"delete {kept}",
    )
    assert result.has_lease
    assert await world.lease() is not None


@pytest.mark.rule("rule 47")
async def test_request_whose_webhook_is_dead_keeps_no_other_and_goes_when_that_lives_again(
    world: World, worker: WorkerActivities
) -> None:
    guarded = await world.make_request()
    other = await world.make_request(name=f"{world.name}-other", annotations={NODE_NAME: world.name})
    await world.make_lease(world.holder, datetime.now(UTC))
    async with dead_webhook(world.client, guarded.name):
        result = await worker.clean_up(order(world, guarded, other))
        found = await world.request()
        assert found["metadata"]["uid"] == guarded.uid
        (failure,) = result.failures
        assert failure.subject == TaskSubject.of_request(guarded.uid)
        assert not failure.is_refused
        assert "failed calling webhook" in failure.why
        assert await world.lease() is not None

    assert await worker.clean_up(order(world, guarded, other)) == CleanUpResult()
    assert await world.request() is None
    assert await world.lease() is None


@pytest.mark.rule("rule 47", "NHC 2.6/confirmed")
async def test_confirmation_that_cannot_be_removed_is_answered_and_keeps_no_lease(
    world: World, worker_transport: Transport
) -> None:
    error = Forbidden("no", status=403)
    request = await world.make_request()
    await world.patch_node(annotations={CONFIRMED_HEALTHY: "yes"})
    await world.make_lease(world.holder, datetime.now(UTC))
    worker = WorkerActivities(worker_transport, client=PatchesAnswered(worker_transport, NODES, error))
    result = await worker.clean_up(order(world, request, is_confirmed=True))
    (failure,) = result.failures
    assert failure.subject == OF_CONFIRMATION
    assert failure.is_refused
    assert failure.what == removing_confirmation(world.incident.target)
    assert not result.has_lease
    assert await world.request() is None
    assert await world.lease() is None


@pytest.mark.parametrize("holder", ["MachineHealthCheck-default/{}", "MachineHealthCheck-default/not-{}"])
async def test_lease_of_a_machine_is_given_back_unless_it_is_that_of_another_check(
    machine_world: MachineWorld, worker: WorkerActivities, holder: str
) -> None:
    is_ours = holder.format(machine_world.name) == machine_world.holder
    await machine_world.make_lease(
        holder.format(machine_world.name), datetime.now(UTC), machine_world.machine_lease_name
    )
    await worker.clean_up(order(machine_world))
    assert (await machine_world.machine_lease() is None) is is_ours


@pytest.mark.rule("rule 39")
@pytest.mark.parametrize("incident", [None, "its own", "another"])
async def test_request_for_a_machine_is_deleted_unless_the_incident_of_another_check_made_it(
    machine_world: MachineWorld, worker: WorkerActivities, incident: str | None
) -> None:
    """The operator made the request that names no incident."""
    await machine_world.use_template()
    own = machine_world.incident
    theirs = own.model_copy(update={"check": own.check.model_copy(update={"name": "another"})})
    signs = {"its own": own.workflow_id, "another": theirs.workflow_id}
    annotations = {INCIDENT: signs[incident], TARGET_UID: machine_world.machine_uid} if incident else {}
    request = await machine_world.make_machine_request(annotations=annotations)
    asked = order(machine_world, request, doubtful=(request.uid,))
    assert (await worker.clean_up(asked)).remaining == ()
    assert (await machine_world.request() is None) is (incident != "another")


async def test_confirmation_on_a_node_of_the_machines_name_stays(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.patch_node(annotations={CONFIRMED_HEALTHY: ""})
    await worker.clean_up(order(machine_world, is_confirmed=True))
    assert CONFIRMED_HEALTHY in await annotations_of_the_node(machine_world)
