"""The Lease of a node is released when its remediation is overdue, and another check acquires it."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.story.leases import antedate, until_free, until_held
from tests.support.story.other_kind import OtherKind
from tests.support.story.second_check import second_check, until_told
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

TIMED_OUT = "remediation.medik8s.io/nhc-timed-out"
SOON = timedelta(seconds=20)
"""Less than the minute after which the incident would ask again without a wake."""


def taken(node: str, by: str) -> str:
    return f"Skipped remediation of node: {node}, because node lease is already taken: {by}"


async def until_timed_out(world: World, node: str) -> None:
    async def is_timed_out() -> bool:
        return TIMED_OUT in (await world.request(node))["metadata"]["annotations"]

    await world.until(is_timed_out, f"the request of {node} was never marked as timed out")


@pytest.mark.rule(
    "NHC 2.5/overdue",
    "NHC 1.7/nhc-timed-out",
    "NHC 2.8/other kind",
    "NHC 2.8/overdue",
    "NHC 2.8/deletion",
    "rule 13",
    "rule 13/overdue",
)
async def test_classic_remediation_that_is_overdue_leaves_its_node_to_a_second_check(
    world: World, other_kind: OtherKind
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_status(phase="Remediating")
    uid = (await world.request(node))["metadata"]["uid"]
    first = f"NodeHealthCheck/{world.name} has the request "
    async with second_check(world, template=other_kind.template) as second:
        await until_told(world, second.name, "RemediationSkipped", taken(node, first))
        await antedate(world, node, timedelta(minutes=29))
        await second.until_status(unhealthyNodes=[{"name": node}], phase="Enabled")
        assert await other_kind.names() == []
        assert TIMED_OUT not in (await world.request(node))["metadata"]["annotations"]

        await antedate(world, node, timedelta(minutes=31))
        await until_timed_out(world, node)
        told = datetime.now(UTC)
        await until_held(world, node, f"NodeHealthCheck-{second.name}")
        assert datetime.now(UTC) - told < SOON
        assert (await world.request(node))["metadata"]["uid"] == uid

        async def is_shown() -> bool:
            (entry,) = (await world.status())["unhealthyNodes"]
            return "timedOut" in entry["remediations"][0]

        await world.until(is_shown, "the status never showed that the request timed out")

        async def is_requested() -> bool:
            return await other_kind.names() == [node]

        await world.until(is_requested, "the second check never went on")
        assert len([event for event in await second.events() if event[1] == "RemediationSkipped"]) == 1
        await second.delete()

        async def is_gone() -> bool:
            return await other_kind.names() == []

        await world.until(is_gone, "the request of the second check is still there")
        assert (await world.request(node))["metadata"]["uid"] == uid
        await until_free(world, node)
    await world.recover(node)
    await world.until_clean(node)
    assert world.requests.created(node) == 1
