"""Events of requests that live for a moment, and of those that somebody takes away."""

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.remediation_request import INCIDENT
from kube.resource import Object
from tests.end_to_end.world import REQUESTS, World

pytestmark = pytest.mark.cluster


@pytest.mark.rule("NHC 1.5/RemediationCreated", "NHC 1.5/RemediationRemoved")
async def test_request_that_lives_for_a_moment_is_told(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.until_status(phase="Enabled")
    owner = {
        "apiVersion": NODE_HEALTH_CHECKS.api_version,
        "kind": NODE_HEALTH_CHECKS.kind,
        "name": world.name,
        "uid": (await world.check())["metadata"]["uid"],
    }
    body = {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {
            "name": node,
            "namespace": "default",
            "ownerReferences": [owner],
            "annotations": {INCIDENT: (await world.incident(node)).workflow_id},
        },
        "spec": {},
    }

    await world.client.create(REQUESTS, body, "default")  # nobody needs it, so it is removed at once
    await world.until_clean(node)
    await _until_told(world, RemediationCreated=1, RemediationRemoved=1)


@pytest.mark.rule("NHC 1.5/DetectedUnhealthy", "NHC 1.5/RemediationRemoved", "rule 15")
async def test_only_what_the_check_removes_is_told_as_removed_and_each_failure_is_told(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_status(phase="Remediating")
    request = (await world.request(node))["metadata"]

    await _set_owners(world, node, [])
    await world.until_status(unhealthyNodes=[{"name": node}])
    await _set_owners(world, node, request["ownerReferences"])
    await world.until_status(phase="Remediating")
    await world.client.delete(REQUESTS, node, "default", uid=request["uid"])
    await _until_told(world, RemediationInterrupted=1, RemediationCreated=2)
    await _until_told(world, DetectedUnhealthy=1, RemediationRemoved=0)

    await world.set_label(node, "test", "another")
    await _until_told(world, RemediationRemoved=1)
    await world.until_status(observedNodes=0, unhealthyNodes=None)
    await world.set_label(node, "test", world.name)
    await _until_told(world, DetectedUnhealthy=2, RemediationInterrupted=1, RemediationRemoved=1)


async def _set_owners(world: World, node: str, owners: list[Object]) -> None:
    await world.client.merge_patch(REQUESTS, node, {"metadata": {"ownerReferences": owners}}, "default")


async def _until_told(world: World, **times: int) -> None:
    """Return when there are that many Events of these reasons."""

    async def are_told() -> bool:
        told = [reason for _, reason, _ in await world.events()]
        return all(told.count(reason) == count for reason, count in times.items())

    await world.until(are_told, f"the Events never were {times}")
