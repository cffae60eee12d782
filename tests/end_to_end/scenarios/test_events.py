"""Events of requests that exist only for a moment, and of requests that a user deletes."""

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.remediation_request import INCIDENT, TARGET_UID
from tests.support.story.world import REQUESTS, World

pytestmark = pytest.mark.cluster


@pytest.mark.rule("NHC 1.5/RemediationCreated", "NHC 1.5/RemediationRemoved")
async def test_request_that_lives_for_a_moment_is_reported(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.until_status(phase="Enabled")
    incident = await world.incident(node)
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
            "annotations": {INCIDENT: incident.workflow_id, TARGET_UID: incident.target.uid},
        },
        "spec": {},
    }

    await world.client.create(REQUESTS, body, "default")  # it is not needed, so it is removed at once
    await world.until_clean(node)
    await _until_told(world, RemediationCreated=1, RemediationRemoved=1)


async def _until_told(world: World, **times: int) -> None:
    """Wait until each of these reasons has that many Events."""

    async def are_told() -> bool:
        told = [reason for _, reason, _ in await world.events()]
        return all(told.count(reason) == count for reason, count in times.items())

    await world.until(are_told, f"the Events never were {times}")
