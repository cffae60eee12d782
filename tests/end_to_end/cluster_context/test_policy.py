"""Edits of the policy while our processes run: windows, limits, and the outage guard."""

from datetime import timedelta

import pytest

from health.model.node import REGION_LABEL, ZONE_LABEL
from health.policy.policy import POLICY
from kube.resource import EVENTS
from runtime.process_names import NAMESPACE
from tests.end_to_end.holds import until_held
from tests.support.story.policies import NO_BACK_OFF, write_policy
from tests.support.story.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


SITE = "example.com/site"


@pytest.fixture(scope="module")
def policy() -> str:
    return f"{NO_BACK_OFF}\noutageGuard: {{labels: {{{SITE}: 4}}}}"


@pytest.mark.rule("rule 37")
async def test_half_of_a_cluster_that_falls_silent_at_once_is_left_alone_and_one_node_is_not(
    world: World,
) -> None:
    nodes = await world.add_nodes(10)
    silent, alone, zone = nodes[:4], nodes[4], f"{world.name}-a"
    for node in silent:
        await world.set_label(node, ZONE_LABEL, zone)
    await world.add_check(duration="5s")
    await world.fail(*silent, alone)

    await world.until_requested(alone)
    for node in silent:
        await until_held(world, node, f"of 4 Nodes of the zone {zone} of the cluster turned Ready=Unknown")
    assert [world.requests.created(node) for node in silent] == [0] * 4

    await world.recover(*silent[1:])
    await world.until_requested(silent[0])
    assert "counted since" in (await world.state(silent[0])).details
    assert [world.requests.created(node) for node in silent[1:]] == [0] * 3


@pytest.mark.rule("rule 62")
async def test_region_without_zones_and_a_site_that_fall_silent_are_left_alone(world: World) -> None:
    nodes = await world.add_nodes(30)  # silent Nodes of the test before may still count
    region, site, alone = nodes[:4], nodes[4:8], nodes[8]
    for node in region:
        await world.set_label(node, REGION_LABEL, f"{world.name}-eu")
    for node in site:
        await world.set_label(node, SITE, f"{world.name}-s")
    await world.add_check(duration="5s")
    await world.fail(*region, *site, alone)

    await world.until_requested(alone)
    for node in region:
        await until_held(world, node, f"of 4 Nodes of the region {world.name}-eu of the cluster")
    for node in site:
        await until_held(world, node, f"of 4 Nodes of the domain {SITE}={world.name}-s of the cluster")
    assert [world.requests.created(node) for node in (*region, *site)] == [0] * 8


WINDOW = """\
backOffLimit: 0s
maintenanceWindows:
- {name: always, schedule: "* * * * *", duration: 1h, remediation: Blocked}
"""
LIMIT = "{backOffLimit: 0s, limits: {maxInFlight: 1}}"


async def _edit_policy(world: World, text: str) -> None:
    """Write the policy and wait for the Event that the detector has read it."""
    before = await _events_of_the_policy(world)
    await write_policy(world.client, text)

    async def is_taken() -> bool:
        return bool(await _events_of_the_policy(world) - before)

    await world.until(is_taken, "no Event reports that the policy was taken")


async def _events_of_the_policy(world: World) -> set[str]:
    events = await world.client.list(EVENTS, NAMESPACE)
    return {event["metadata"]["name"] for event in events if event["involvedObject"]["name"] == POLICY}


@pytest.mark.rule("rule 43")
async def test_policy_is_reported_and_limits_when_and_how_many_remediations_begin(world: World) -> None:
    await _edit_policy(world, WINDOW)
    first, second = await world.add_nodes(2)
    await world.add_check()
    await world.fail(first)
    await until_held(
        world, first, "MaintenanceWindow: the maintenance window always blocks remediation until"
    )
    await world.until_told("RemediationSkipped", "the maintenance window always blocks remediation")

    await _edit_policy(world, LIMIT)
    await world.until_requested(first)
    await world.fail(second)
    await until_held(world, second, "Limit: 1 remediation is under way, at most 1 allowed by the policy")
    await world.recover(first)
    await world.until_requested(second)
    assert world.requests.created(first) == 1


@pytest.mark.rule("rule 49")
async def test_one_of_eight_nodes_is_remediated_when_all_leave_shadow_under_a_limit_of_one(
    world: World,
) -> None:
    await _edit_policy(world, LIMIT)
    first, *others = await world.add_nodes(12)
    await world.add_check()
    await world.fail(first)
    await world.until_requested(first)  # now the leader knows the existing requests
    await world.recover(first)
    await world.outcome(first)

    await _edit_policy(world, "{backOffLimit: 0s, shadow: true, limits: {maxInFlight: 1}}")
    down = others[:8]
    await world.fail(*down)
    for node in down:
        await world.until_phase(node, "Remediating")
    assert [world.requests.created(node) for node in down] == [0] * 8

    # On a busy machine an act may be refused as stale; its slot then stays reserved for half a minute.
    world.patience = timedelta(minutes=2)
    await _edit_policy(world, LIMIT)
    for _ in range(2):
        requested = await _until_one_is_requested(world, down)
        down = [node for node in down if node not in requested]
        for node in down:
            await until_held(world, node, "Limit: ")
        assert [world.requests.created(node) for node in down] == [0] * len(down)
        await world.recover(*requested)


async def _until_one_is_requested(world: World, down: list[str]) -> list[str]:
    """The node that has a request; no other node may have one."""

    async def is_requested() -> bool:
        return any(world.requests.created(node) for node in down)

    await world.until(is_requested, "no node was remediated")
    requested = [node for node in down if world.requests.created(node)]
    assert len(requested) == 1
    return requested
