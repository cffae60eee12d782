"""Requests that are committed when nobody waits for them any more, by an act that hung or a frozen worker."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from health.model.remediation_request import INCIDENT, NODE_NAME, TARGET_UID, TEMPLATE_NAME
from kube.resource import Object
from tests.end_to_end.world import REQUESTS, World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 41/late")]

SECONDS = timedelta(seconds=30)
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


async def test_late_requests_are_removed_within_seconds_whether_their_incident_is_left_alone_or_has_ended(
    world: World,
) -> None:
    left_alone, ended = nodes = await world.add_nodes(2)
    await world.add_check()
    await world.fail(*nodes)
    await world.until_requested(*nodes)
    await (await world.workflow(left_alone)).execute_update("abort")
    await world.until_phase(left_alone, "LeftAlone")
    await world.recover(ended)
    await world.until_ended(ended)
    await world.until_clean(*nodes)
    await _until_quiet(world, left_alone)

    world.patience = SECONDS
    for node in nodes:
        await _commit_late(world, node)
    for node in nodes:
        await world.until(_is_seen(world, node), "the watch of the test shows no late request")
    await world.until_clean(*nodes)
    await world.until_phase(left_alone, "LeftAlone")
    await world.until_ended(ended)

    await world.recover(left_alone)
    assert await world.outcome(left_alone) == "Recovered"


def _is_seen(world: World, node: str) -> Callable[[], Awaitable[bool]]:
    async def is_seen() -> bool:
        return world.requests.created(node) == 2

    return is_seen
