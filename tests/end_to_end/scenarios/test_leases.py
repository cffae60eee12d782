"""The Lease of a node: taken before a request is made, respected, given back when it is overdue or done."""

from datetime import UTC, datetime, timedelta

import pytest

from kube.resource import NODES
from tests.end_to_end.leases import antedate, delete_lease, put_lease, until_free, until_held
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.second_check import events_of, second_check, until_told
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

TIMED_OUT = "remediation.medik8s.io/nhc-timed-out"
LASTING = timedelta(seconds=15)
"""Of a Lease that ends by itself: long enough to be seen."""
SOON = timedelta(seconds=20)
"""Less than a minute, after which it would have asked again without having been told."""
MAINTENANCE = "node-maintenance holds its Lease"


def taken(node: str, by: str) -> str:
    return f"Skipped remediation of node: {node}, because node lease is already taken: {by}"


async def until_timed_out(world: World, node: str) -> None:
    async def is_timed_out() -> bool:
        return TIMED_OUT in (await world.request(node))["metadata"]["annotations"]

    await world.until(is_timed_out, f"the request of {node} was never marked as timed out")


@pytest.mark.rule(
    "NHC 1.8/namespace",
    "NHC 1.8/name",
    "NHC 1.8/holder",
    "NHC 1.8/duration",
    "NHC 1.8/times",
    "NHC 1.8/owner",
    "NHC 2.5/durations",
    "NHC 2.5/obtain/missing",
    "NHC 2.5/release",
)
async def test_lease_is_taken_for_as_long_as_its_remediation_may_last_and_given_back_on_recovery(
    world: World,
) -> None:
    classic, escalating = (await world.add_named_nodes("classic", "escalating")).values()
    await world.client.merge_patch(NODES, escalating, {"metadata": {"labels": {"test": f"{world.name}-e"}}})
    await world.add_check()
    template = (await world.check())["spec"]["remediationTemplate"]
    step = {"remediationTemplate": template, "order": 1, "timeout": "90s"}
    async with second_check(
        world,
        selector={"test": f"{world.name}-e"},
        remediationTemplate=None,
        escalatingRemediations=[step],
    ) as second:
        await world.fail(classic, escalating)
        await world.until_requested(classic, escalating)

        for node, check, seconds in ((classic, world.name, 660), (escalating, second.name, 150)):
            lease = await world.lease(node)
            assert lease is not None
            uid = (await world.client.get(NODES, node))["metadata"]["uid"]
            owners = [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}]
            assert lease["metadata"]["ownerReferences"] == owners
            assert lease["spec"] == {
                "holderIdentity": f"NodeHealthCheck-{check}",
                "leaseDurationSeconds": seconds,
                "acquireTime": lease["spec"]["renewTime"],
                "renewTime": lease["spec"]["renewTime"],
                "leaseTransitions": 0,
            }
            made = (await world.request(node))["metadata"]["creationTimestamp"]
            assert lease["metadata"]["creationTimestamp"] <= made

        await world.recover(classic, escalating)
        await world.until_clean(classic, escalating)
        await second.until_status(unhealthyNodes=None, healthyNodes=1)


@pytest.mark.rule(
    "NHC 2.5/obtain/foreign", "NHC 1.5/RemediationSkipped/lease", "rule 15", "rule 6", "rule 17"
)
async def test_lease_of_somebody_else_holds_its_node_until_it_is_deleted_or_over(world: World) -> None:
    deleted, ends = (await world.add_named_nodes("deleted", "ends")).values()
    await world.add_check(duration="0s")
    await put_lease(world, deleted, "node-maintenance")
    ending = await put_lease(world, ends, "node-maintenance", lasts=LASTING)
    await world.fail(deleted, ends)

    await until_told(world, world.name, "RemediationSkipped", taken(deleted, MAINTENANCE))
    await until_told(world, world.name, "RemediationSkipped", taken(ends, MAINTENANCE))
    await world.until_phase(deleted, "Held")
    assert "node-maintenance" in (await world.state(deleted)).details
    await world.until_status(
        observedNodes=2, healthyNodes=0, phase="Enabled", unhealthyNodes=[{"name": deleted}, {"name": ends}]
    )

    await world.until_requested(ends)
    renewed = datetime.fromisoformat(ending["spec"]["renewTime"])
    made = datetime.fromisoformat((await world.request(ends))["metadata"]["creationTimestamp"])
    assert LASTING - timedelta(seconds=1) <= made - renewed <= LASTING + SOON
    taken_over = await until_held(world, ends, f"NodeHealthCheck-{world.name}")
    assert taken_over["leaseTransitions"] == 1
    assert world.requests.created(deleted) == 0

    await delete_lease(world, deleted)
    freed = datetime.now(UTC)
    await world.until_requested(deleted)
    assert datetime.now(UTC) - freed < SOON
    assert await until_held(world, deleted, f"NodeHealthCheck-{world.name}")
    skipped = [one for one in await events_of(world, world.name) if one[1] == "RemediationSkipped"]
    assert len(skipped) == 2


@pytest.mark.rule("NHC 2.5/obtain/expired", "NHC 2.5/obtain/ours", "rule 39")
async def test_lease_that_is_over_is_taken_over_and_one_of_ours_is_kept_since_it_was_acquired(
    world: World,
) -> None:
    over, ours = (await world.add_named_nodes("over", "ours")).values()
    await world.add_check()
    hour, minutes = timedelta(hours=1), timedelta(minutes=5)
    await put_lease(
        world, over, "node-maintenance", lasts=minutes, acquired_ago=2 * hour, renewed_ago=2 * minutes
    )
    before = await put_lease(
        world,
        ours,
        f"NodeHealthCheck-{world.name}",
        lasts=timedelta(seconds=660),
        acquired_ago=minutes,
        renewed_ago=minutes,
    )
    began = datetime.now(UTC)
    await world.fail(over, ours)
    await world.until_requested(over, ours)

    lease = await until_held(world, over, f"NodeHealthCheck-{world.name}")
    assert lease["leaseTransitions"] == 1
    assert datetime.fromisoformat(lease["acquireTime"]) >= began
    assert lease["leaseDurationSeconds"] == 660
    lease = await until_held(world, ours, f"NodeHealthCheck-{world.name}")
    assert lease["leaseTransitions"] == 0
    assert lease["acquireTime"] == before["spec"]["acquireTime"]
    assert datetime.fromisoformat(lease["renewTime"]) >= began

    await world.recover(over, ours)
    await world.until_clean(over, ours)


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
        await until_held(world, node, f"NodeHealthCheck-{second.name}")
        assert (await world.request(node))["metadata"]["uid"] == uid

        async def is_shown() -> bool:
            (entry,) = (await world.status())["unhealthyNodes"]
            return "timedOut" in entry["remediations"][0]

        await world.until(is_shown, "the status never showed that the request timed out")

        async def is_requested() -> bool:
            return await other_kind.names() == [node]

        await world.until(is_requested, "the second check never went on")
        told = [event for event in await second.events() if event[1] == "RemediationSkipped"]
        assert len(told) == 1
        await second.delete()

        async def is_gone() -> bool:
            return await other_kind.names() == []

        await world.until(is_gone, "the request of the second check is still there")
        assert (await world.request(node))["metadata"]["uid"] == uid
        await until_free(world, node)
    await world.recover(node)
    await world.until_clean(node)
    assert world.requests.created(node) == 1


@pytest.mark.rule(
    "NHC 2.8/same template", "NHC 2.8/thresholds", "rule 13", "rule 13/blocked", "NHC 2.4/4/foreign"
)
async def test_first_of_two_checks_with_one_template_keeps_the_node_and_a_paused_one_holds_nothing(
    world: World,
) -> None:
    node, _ = await world.add_nodes(2)
    await world.client.merge_patch(NODES, node, {"metadata": {"labels": {"alone": world.name}}})
    await world.add_check(pauseRequests=["until the second has begun"], minHealthy="51%")
    async with second_check(world, selector={"alone": world.name}) as second:
        await world.fail(node)
        await second.until_status(phase="Remediating", observedNodes=1, healthyNodes=0)
        request = (await world.request(node))["metadata"]
        await world.edit_check(pauseRequests=[], minHealthy=1)

        await world.until_status(
            phase="Enabled", observedNodes=2, healthyNodes=1, unhealthyNodes=[{"name": node}]
        )
        await world.until_phase(node, "Held")

        async def names_the_holder() -> bool:
            return f"NodeHealthCheck/{second.name}" in (await world.state(node)).details

        await world.until(names_the_holder, "the second never was told who holds the node")
        assert (await world.request(node))["metadata"]["uid"] == request["uid"]
        assert request["ownerReferences"][0]["name"] == second.name

        await second.delete()
        await until_held(world, node, f"NodeHealthCheck-{world.name}")
        await world.until_status(phase="Remediating")
        assert (await world.request(node))["metadata"]["ownerReferences"][0]["name"] == world.name
    await world.recover(node)
    await world.until_clean(node)
    assert world.requests.created(node) == 2
