"""Each deletion or removal that fails is reported on its own, and stops no other."""

from datetime import UTC, datetime

import pytest

from health.model.node import CONFIRMED_HEALTHY
from health.model.references import RequestReference
from health.model.remediation_request import NODE_NAME
from health.model.task_subject import OF_CONFIRMATION, TaskSubject
from health.runbook.failures import removing_confirmation
from kube.errors import Forbidden
from kube.resource import NODES
from kube.transport import Transport
from tests.activities.dead_webhook import dead_webhook
from tests.activities.overtaken import Keeps, PatchesAnswered
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import World
from workflows.contracts import CleanUpInput, CleanUpResult

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 47")]


def order(world: World, *requests: RequestReference, is_confirmed: bool = False) -> CleanUpInput:
    return CleanUpInput(incident=world.incident, requests=requests, is_confirmed=is_confirmed)


@pytest.mark.rule("rule 47/403")
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


async def test_request_whose_webhook_is_dead_keeps_no_other_and_goes_when_that_lives_again(
    world: World, worker: WorkerActivities
) -> None:
    guarded = await world.make_request()
    other = await world.make_request(name=f"{world.name}-other", annotations={NODE_NAME: world.name})
    await world.make_lease(world.holder, datetime.now(UTC))
    async with dead_webhook(world.client, guarded.name):
        result = await worker.clean_up(order(world, guarded, other))
        found = await world.request()
        assert found is not None
        assert found["metadata"]["uid"] == guarded.uid
        (failure,) = result.failures
        assert failure.subject == TaskSubject.of_request(guarded.uid)
        assert not failure.is_refused
        assert "failed calling webhook" in failure.why
        assert await world.lease() is not None

    assert await worker.clean_up(order(world, guarded, other)) == CleanUpResult()
    assert await world.request() is None
    assert await world.lease() is None


@pytest.mark.rule("NHC 2.6/confirmed")
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
