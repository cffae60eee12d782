"""Requests that are committed when nobody waits for them any more, by an act that hung or a frozen worker."""

from datetime import timedelta

import pytest

from health.model.remediation_request import INCIDENT, NODE_NAME, TARGET_UID, TEMPLATE_NAME
from kube.resource import Object
from tests.end_to_end.world import REQUESTS, World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 41/late")]

SECONDS = timedelta(seconds=10)
"""The next reconciliation is minutes away."""
QUIET_LOOKS = 6


async def _commit_late(world: World, node: str) -> None:
    """What an act of the incident of this node would have made."""
    incident, check = await world.incident(node), await world.check()
    owner = {
        "apiVersion": check["apiVersion"],
        "kind": check["kind"],
        "name": check["metadata"]["name"],
        "uid": check["metadata"]["uid"],
    }
    annotations = {
        INCIDENT: incident.workflow_id,
        TARGET_UID: incident.target.uid,
        NODE_NAME: node,
        TEMPLATE_NAME: world.name,
    }
    body: Object = {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {"name": node, "annotations": annotations, "ownerReferences": [owner]},
        "spec": {},
    }
    await world.client.create(REQUESTS, body, "default")


async def _until_quiet(world: World, node: str) -> None:
    """Return when nobody has asked or woken the incident for a second: all is told by then."""
    workflow, lengths = await world.workflow(node), list[int]()

    async def is_quiet() -> bool:
        lengths.append((await workflow.describe()).history_length)
        return len(lengths) > QUIET_LOOKS and len(set(lengths[-QUIET_LOOKS:])) == 1

    await world.until(is_quiet, f"the incident of {node} never rests")


async def _until_seen_and_clean(world: World, node: str, created: int) -> None:
    world.patience = SECONDS

    async def is_seen() -> bool:
        return world.requests.created(node) == created

    await world.until(is_seen, "the watch of the test shows no late request")
    await world.until_clean(node)


async def test_late_request_of_an_incident_that_is_left_alone_is_removed_within_seconds(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_requested(node)
    await (await world.workflow(node)).execute_update("abort")
    await world.until_phase(node, "LeftAlone")
    await world.until_clean(node)
    await _until_quiet(world, node)

    await _commit_late(world, node)
    await _until_seen_and_clean(world, node, created=2)
    await world.until_phase(node, "LeftAlone")

    await world.recover(node)
    assert await world.outcome(node) == "Recovered"


async def test_late_request_of_an_incident_that_has_ended_is_removed_within_seconds(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_requested(node)
    await world.recover(node)
    await world.until_ended(node)
    await world.until_clean(node)

    await _commit_late(world, node)
    await _until_seen_and_clean(world, node, created=2)
    await world.until_ended(node)
