import pytest

from health.model.moves import AnnotationPatch
from health.model.references import RequestReference
from health.model.remediation_request import GREW_OLD, GREW_OLD_FLAG, HEALTHY_DELAY, NODE_NAME, TIMED_OUT
from health.model.task_subject import TaskSubject
from kube.transport import Transport
from tests.activities.dead_webhook import dead_webhook
from tests.activities.overtaken import Keeps
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import DEMO, World
from workflows.contracts import AnnotateInput, AnnotateResult

pytestmark = pytest.mark.cluster

WHEN = "2026-03-01T12:00:00Z"
GONE = ({"name": "no-such-request"}, {"kind": "UnheardOf"}, {"api_version": "nowhere.example.com/v1"})


def order(world: World, *annotations: tuple[RequestReference, dict[str, str | None]]) -> AnnotateInput:
    patches = tuple(AnnotationPatch(request=request, annotations=texts) for request, texts in annotations)
    return AnnotateInput(incident=world.incident, patches=patches)


async def annotations(world: World) -> dict[str, str]:
    found = await world.request()
    texts: dict[str, str] = found["metadata"].get("annotations") or {}
    return texts


@pytest.mark.rule("NHC 1.7/nhc-timed-out", "NHC 1.7/healthy-delay", "NHC 1.7/old-remediation-cr-flag")
async def test_annotations_are_written_beside_what_is_there(world: World, worker: WorkerActivities) -> None:
    request = await world.make_request(annotations={NODE_NAME: world.name})
    texts: dict[str, str | None] = {TIMED_OUT: WHEN, HEALTHY_DELAY: WHEN, GREW_OLD: GREW_OLD_FLAG}
    await worker.annotate(order(world, (request, texts)))
    assert await annotations(world) == {NODE_NAME: world.name, **texts}


@pytest.mark.rule("rule 19")
async def test_annotation_that_is_no_longer_true_is_taken_away(
    world: World, worker: WorkerActivities
) -> None:
    request = await world.make_request(annotations={NODE_NAME: world.name, HEALTHY_DELAY: WHEN})
    await worker.annotate(order(world, (request, {HEALTHY_DELAY: None})))
    assert await annotations(world) == {NODE_NAME: world.name}


async def test_annotation_that_is_written_again_changes_nothing(
    world: World, worker: WorkerActivities
) -> None:
    request = await world.make_request()
    await worker.annotate(order(world, (request, {TIMED_OUT: WHEN})))
    before = await world.request()
    await worker.annotate(order(world, (request, {TIMED_OUT: WHEN})))
    assert await world.request() == before


async def test_request_that_another_client_created_again_is_not_annotated(
    world: World, worker: WorkerActivities
) -> None:
    ours = await world.make_request()
    await world.remove_request(world.name)
    await world.make_request()
    await worker.annotate(order(world, (ours, {TIMED_OUT: WHEN})))
    assert await annotations(world) == {}


async def test_requests_that_are_gone_or_whose_kind_or_group_is_keep_no_other_from_being_annotated(
    world: World, worker: WorkerActivities
) -> None:
    request = await world.make_request()
    gone = [request.model_copy(update=changes) for changes in GONE]
    patches: list[tuple[RequestReference, dict[str, str | None]]] = [
        (snapshot, {TIMED_OUT: WHEN}) for snapshot in (*gone, request)
    ]
    assert await worker.annotate(order(world, *patches)) == AnnotateResult()
    assert await annotations(world) == {TIMED_OUT: WHEN}


@pytest.mark.rule("rule 8", "rule 47", "rule 47/403")
async def test_request_that_may_not_be_written_is_answered_and_keeps_no_other_from_being_annotated(
    world: World, worker_transport: Transport
) -> None:
    request = await world.make_request()
    kept = await world.make_request(name=f"{world.name}-kept", annotations={NODE_NAME: world.name})
    worker = WorkerActivities(worker_transport, client=Keeps(worker_transport, kept.name))
    result = await worker.annotate(order(world, (kept, {TIMED_OUT: WHEN}), (request, {TIMED_OUT: WHEN})))
    await world.remove_request(kept.name)
    assert await annotations(world) == {TIMED_OUT: WHEN}
    (failure,) = result.failures
    assert failure.is_refused
    assert failure.subject == TaskSubject.of_annotations(kept.uid, [TIMED_OUT])
    assert failure.what == f"annotate {kept} with {TIMED_OUT}"


@pytest.mark.rule("rule 47")
async def test_request_whose_webhook_is_dead_is_answered(world: World, worker: WorkerActivities) -> None:
    request = await world.make_request()
    async with dead_webhook(world.client, request.name):
        result = await worker.annotate(order(world, (request, {TIMED_OUT: WHEN})))
    (failure,) = result.failures
    assert not failure.is_refused
    assert "failed calling webhook" in failure.why
    assert await annotations(world) == {}
    assert await worker.annotate(order(world, (request, {TIMED_OUT: WHEN}))) == AnnotateResult()
    assert await annotations(world) == {TIMED_OUT: WHEN}


async def test_annotation_that_was_not_written_is_answered(
    world: World, worker_in_the_dark: WorkerActivities
) -> None:
    request = RequestReference(api_version=DEMO, kind="PowerCycleRemediation", name="any", uid="any")
    (failure,) = (await worker_in_the_dark.annotate(order(world, (request, {TIMED_OUT: WHEN})))).failures
    assert failure.subject == TaskSubject.of_annotations("any", [TIMED_OUT])
    assert not failure.is_refused
