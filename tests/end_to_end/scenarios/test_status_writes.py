"""How often the status is written: on change, at most twice a second, whatever the number of nodes."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from kube.resource import NODES
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

NODES_IN_ALL = 40
UNHEALTHY = 24
HEARTBEATS = 20
MOST_A_SECOND = 2


def written(audit_log: Path, check: str, since: datetime) -> list[datetime]:
    """When the status of a check was written since then."""
    found = []
    for line in audit_log.read_text().splitlines():
        event = json.loads(line)
        where = event.get("objectRef", {})
        if event["verb"] == "patch" and (where.get("name"), where.get("subresource")) == (check, "status"):
            found.append(datetime.fromisoformat(event["requestReceivedTimestamp"]))
    return sorted(when for when in found if when > since)


def most_in_a_second(times: list[datetime]) -> int:
    second = timedelta(seconds=1)
    return max((sum(one <= other < one + second for other in times) for one in times), default=0)


async def heartbeat(world: World, node: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    stored = await world.client.get(NODES, node)
    conditions = [one | {"lastHeartbeatTime": now} for one in stored["status"]["conditions"]]
    await world.client.merge_patch(NODES, node, {"status": {"conditions": conditions}}, subresource="status")


@pytest.mark.rule("NHC 1.2/patch", "rule 6")
async def test_status_of_many_nodes_is_written_twice_a_second_at_most_and_never_for_a_heartbeat(
    world: World, control_plane: ControlPlane
) -> None:
    await world.add_nodes(NODES_IN_ALL)
    await world.add_check(minHealthy="100%")
    await world.until_status(observedNodes=NODES_IN_ALL, healthyNodes=NODES_IN_ALL)

    began = datetime.now(UTC)
    for node in world.nodes[:UNHEALTHY]:
        await world.fail(node)
    await world.until_status(healthyNodes=NODES_IN_ALL - UNHEALTHY)

    async def are_listed() -> bool:
        return len((await world.status()).get("unhealthyNodes", ())) == UNHEALTHY

    await world.until(are_listed, "not all unhealthy nodes are listed")
    times = written(control_plane.audit_log, world.name, began)
    assert 1 <= len(times) < UNHEALTHY
    assert most_in_a_second(times) <= MOST_A_SECOND

    quiet = datetime.now(UTC)
    await asyncio.gather(*(heartbeat(world, node) for node in world.nodes[:HEARTBEATS]))
    await world.recover(world.nodes[0])  # what comes after the heartbeats shows that they were seen
    await world.until_status(healthyNodes=NODES_IN_ALL - UNHEALTHY + 1)
    assert len(written(control_plane.audit_log, world.name, quiet)) == 1
