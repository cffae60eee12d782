"""A foreign workflow in our Temporal namespace schedules our activities on the worker's queue."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.worker import Worker

from health.model.references import IncidentReference, RequestReference
from health.model.remediation_request import INCIDENT
from kube.resource import NODES, Object
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import REQUESTS, World
from workflows.contracts import worker_queue

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 52")]


@workflow.defn(sandboxed=False)
class Foreign:
    @workflow.run
    async def run(self, queue: str, name: str, asked: dict[str, Any]) -> Any:
        return await workflow.execute_activity(
            name,
            asked,
            task_queue=queue,
            start_to_close_timeout=timedelta(seconds=20),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )


async def schedule(world: World, name: str, asked: dict[str, Any]) -> Any:
    queue = f"foreign-{uuid.uuid4().hex[:8]}"
    async with Worker(world.temporal, task_queue=queue, workflows=[Foreign]):
        arguments = [worker_queue(world.cluster), name, asked]
        return await world.temporal.execute_workflow("Foreign", args=arguments, id=queue, task_queue=queue)


def clean_up(incident: IncidentReference, request: RequestReference) -> dict[str, Any]:
    return {"incident": incident.model_dump(mode="json"), "requests": [request.model_dump(mode="json")]}


async def test_foreign_workflow_deletes_no_request_of_another_tool_and_no_node(
    world: World, paramedic: Paramedic
) -> None:
    """The worker may delete all requests of the kind; this request names no incident."""
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await paramedic.start()
    incident = await world.incident(node)
    body: Object = {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {"name": f"{world.name}-theirs"},
    }
    theirs = await world.client.create(REQUESTS, body, "default")
    reference = RequestReference(
        api_version=REQUESTS.api_version,
        kind=REQUESTS.kind,
        namespace="default",
        name=theirs["metadata"]["name"],
        uid=theirs["metadata"]["uid"],
    )
    healthy = await world.client.get(NODES, node)
    as_request = RequestReference(api_version="v1", kind="Node", name=node, uid=healthy["metadata"]["uid"])

    for one in (reference, as_request):
        answer = await schedule(world, "clean_up", clean_up(incident, one))
        assert [failure["what"] for failure in answer["failures"]] == [f"delete {one}"]
    adoption = {"request": reference.model_dump(mode="json"), "adopts": True}
    asked = {"incident": incident.model_dump(mode="json"), "patches": [adoption]}
    answer = await schedule(world, "annotate", asked)
    assert [failure["what"] for failure in answer["failures"]] == [f"annotate {reference} with {INCIDENT}"]

    assert await world.client.get(REQUESTS, reference.name, "default") == theirs
    assert "deletionTimestamp" not in (await world.client.get(NODES, node))["metadata"]
    await world.client.delete(REQUESTS, reference.name, "default")
