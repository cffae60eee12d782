"""Times at the end of the calendar, which anybody may write: in Leases, in annotations, in a status."""

from datetime import UTC, datetime, timedelta

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.resource import LEASES, Object
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.leases import put_lease
from tests.end_to_end.world import LEASE_NAMESPACE, REQUESTS, World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 8/wire")]

LAST, FIRST = "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"
HEALTHY_DELAY = "remediation.medik8s.io/healthy-delay"
NODE_NAME = "remediation.medik8s.io/node-name"


async def lease_of(world: World, node: str, holder: str, **times: str) -> None:
    """A Lease that says these times, as micro times have them."""
    await put_lease(world, node, holder)
    spec = {name: time.replace("Z", ".999999Z") for name, time in times.items()}
    await world.client.merge_patch(LEASES, f"node-{node}", {"spec": spec}, LEASE_NAMESPACE)


async def test_leases_with_times_of_the_last_year_end_no_process_and_hold_no_node(
    world: World, paramedic: Paramedic
) -> None:
    foreign, own, plain = (await world.add_named_nodes("foreign", "own", "plain")).values()
    await world.add_check()
    await lease_of(world, foreign, "somebody", renewTime=LAST, acquireTime=LAST)
    await lease_of(world, own, f"NodeHealthCheck-{world.name}", acquireTime=LAST)

    await world.fail(foreign, own, plain)
    await world.until_requested(foreign, own, plain)
    lease = await world.lease(foreign)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == f"NodeHealthCheck-{world.name}"

    await world.recover(foreign, own, plain)
    assert [await world.outcome(node) for node in (foreign, own, plain)] == ["Remediated"] * 3
    await world.until_clean(foreign, own, plain)
    assert not paramedic.detector.is_down
    assert not paramedic.worker.is_down


async def test_request_that_is_healthy_since_the_last_year_is_kept_for_the_delay_from_now_on(
    world: World,
) -> None:
    node, early = (await world.add_named_nodes("late", "early")).values()
    await world.add_check(healthyDelay="1h")
    began = datetime.now(UTC) - timedelta(seconds=2)

    await world.client.create(REQUESTS, await request(world, node, LAST), "default")
    await world.client.create(REQUESTS, await request(world, early, FIRST), "default")

    async def is_stamped_anew() -> bool:
        stamp = (await world.request(node))["metadata"]["annotations"][HEALTHY_DELAY]
        return began <= datetime.fromisoformat(stamp) <= datetime.now(UTC)

    await world.until(is_stamped_anew, f"the request of {node} says {LAST} for ever")
    await world.until_clean(early)
    await world.until_phase(node, "HealthyDelay")
    await world.edit_check(healthyDelay="1s")
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node, early)


async def request(world: World, node: str, healthy_since: str) -> Object:
    """A request that the check owns and that says since when its node is healthy."""
    check = (await world.check())["metadata"]
    owner = {
        "apiVersion": NODE_HEALTH_CHECKS.api_version,
        "kind": NODE_HEALTH_CHECKS.kind,
        "name": check["name"],
        "uid": check["uid"],
    }
    return {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {
            "name": node,
            "namespace": "default",
            "annotations": {NODE_NAME: node, HEALTHY_DELAY: healthy_since},
            "ownerReferences": [owner],
        },
        "spec": {"powerOffSeconds": 7},
    }
