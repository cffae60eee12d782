"""What is told of a remediation: Events, status and metrics."""

import pytest

from kube.resource import EVENTS, Object
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.world import KIND, World
from tests.samples_of_metrics import series

pytestmark = pytest.mark.cluster

TOLD = ["Enabled", "DetectedUnhealthy", "RemediationCreated"]


async def events_of(world: World) -> list[Object]:
    found = await world.client.list(EVENTS, "default")
    return [event for event in found if event["involvedObject"]["name"] == world.name]


@pytest.mark.rule("NHC 1.5/form", "NHC 2.4/5")
async def test_request_that_is_created_is_told_in_status_events_and_metrics(
    world: World, paramedic: Paramedic
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_requested(node)
    created = await world.request(node)

    async def are_told() -> bool:
        return {event["reason"] for event in await events_of(world)} >= set(TOLD)

    await world.until(are_told, "not all is told")
    for event in await events_of(world):
        assert event["message"].startswith("[remediation] ")
        assert event["source"]["component"] == "NodeHealthCheck"
        assert event["involvedObject"]["kind"] == "NodeHealthCheck"
        assert event["involvedObject"]["uid"] == (await world.check())["metadata"]["uid"]
    await world.until_status(phase="Remediating")
    (listed,) = (await world.status())["unhealthyNodes"]
    assert listed["remediations"][0]["resource"]["uid"] == created["metadata"]["uid"]
    gauge = series("nodehealthcheck_ongoing_remediation", name=node, namespace="default", remediation=KIND)
    assert (await paramedic.detector.metrics())[gauge] == 1
