"""How long the request of a recovered node is kept."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.node import CONFIRMED_HEALTHY
from health.model.remediation_request import HEALTHY_DELAY
from kube.resource import NODES, Object
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

SECOND = timedelta(seconds=1)


@pytest.mark.rule(
    "NHC 2.6/positive",
    "NHC 2.6/edited",
    "NHC 1.1/healthyDelay",
    "NHC 1.2/unhealthyNodes/healthyDelayed",
    "NHC 1.7/healthy-delay",
    "rule 10/edit",
    "rule 19",
)
async def test_requests_are_kept_for_the_delay_which_an_edit_changes_and_another_failure_restarts(
    world: World,
) -> None:
    names = await world.add_named_nodes("well", "relapsed")
    well, relapsed = names["well"], names["relapsed"]
    await world.add_check(healthyDelay="1h")
    await world.fail(*names.values())
    await world.until_requested(*names.values())
    before = datetime.now(UTC)

    await world.recover(*names.values())
    since = await _until_stamped(world, well)
    await _until_stamped(world, relapsed)
    assert before - SECOND <= since <= datetime.now(UTC)
    await _until_delayed(world, *names.values())
    await world.until_phase(well, "HealthyDelay")
    assert await world.lease(well) is not None
    assert await _healthy_nodes(world) == 0

    # A new failure removes the stamp, and the next recovery sets a later one.
    await world.fail(relapsed)
    await _until_unstamped(world, relapsed)
    await _until_delayed(world, well)
    await world.until_phase(relapsed, "Remediating")
    kept = int((datetime.now(UTC) - since) / SECOND) + 4
    await world.edit_check(healthyDelay=f"{kept}s")

    assert await world.outcome(well) == "Remediated"
    assert datetime.now(UTC) >= since + kept * SECOND
    await world.until_clean(well)
    await world.until_status(healthyNodes=1)
    await world.recover(relapsed)
    again = await _until_stamped(world, relapsed)
    assert again > since
    await world.edit_check(healthyDelay="2s")
    assert await world.outcome(relapsed) == "Remediated"
    assert datetime.now(UTC) >= again + 2 * SECOND
    await world.until_clean(relapsed)
    await world.until_status(phase="Enabled", healthyNodes=2, unhealthyNodes=None)
    assert [world.requests.created(name) for name in names.values()] == [1, 1]


@pytest.mark.rule("NHC 2.6/confirmed", "NHC 2.0/node confirmed healthy", "NHC 2.6/none")
async def test_confirmation_ends_a_positive_delay_and_is_taken_off_when_the_requests_are_gone(
    world: World,
) -> None:
    node, healthy = await world.add_nodes(2)
    await world.add_check(healthyDelay="1h")
    await world.fail(node)
    await world.until_requested(node)
    await world.set_finalizers(node, ["test/keeps"])
    await world.recover(node)
    await _until_stamped(world, node)

    await world.set_annotation(node, CONFIRMED_HEALTHY, "true")
    await _until_being_deleted(world, node)
    assert CONFIRMED_HEALTHY in await _annotations(world, node)
    assert await world.lease(node) is not None
    assert set(await _entries(world)) == {node}
    await world.set_finalizers(node, None)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    await _until_unmarked(world, node)
    await world.until_status(healthyNodes=2, unhealthyNodes=None)

    # A confirmation without a delay is removed, too.
    await world.set_annotation(healthy, CONFIRMED_HEALTHY, "true")
    await _until_unmarked(world, healthy)
    assert world.requests.created(healthy) == 0


async def _stamp(world: World, node: str) -> str:
    return str((await world.request(node))["metadata"]["annotations"].get(HEALTHY_DELAY, ""))


async def _until_stamped(world: World, node: str) -> datetime:
    """Wait for the stamp of the delay on the request of a node, and return its time."""

    async def is_stamped() -> bool:
        return await _stamp(world, node) != ""

    await world.until(is_stamped, f"the request of {node} never said since when the node is healthy")
    stamp = await _stamp(world, node)
    assert stamp.endswith("Z")
    return datetime.fromisoformat(stamp)


async def _until_unstamped(world: World, node: str) -> None:
    async def is_unstamped() -> bool:
        return await _stamp(world, node) == ""

    await world.until(is_unstamped, f"the request of {node} still says that the node is healthy")


async def _entries(world: World) -> dict[str, Object]:
    return {entry["name"]: entry for entry in (await world.status()).get("unhealthyNodes", ())}


async def _until_delayed(world: World, *nodes: str) -> None:
    """Wait until the status lists exactly these nodes as kept for the delay."""

    async def are_delayed() -> bool:
        entries = await _entries(world)
        return {name for name, entry in entries.items() if entry.get("healthyDelayed")} == set(nodes)

    await world.until(are_delayed, f"the status never said that {nodes} are delayed: {await _entries(world)}")
    for name, entry in (await _entries(world)).items():
        assert ("conditionsHealthyTimestamp" in entry) == (name in nodes)


async def _healthy_nodes(world: World) -> int:
    return int((await world.status())["healthyNodes"])


async def _annotations(world: World, node: str) -> dict[str, str]:
    return dict((await world.client.get(NODES, node))["metadata"].get("annotations") or {})


async def _until_unmarked(world: World, node: str) -> None:
    """Wait until the node has no confirmation of health."""

    async def is_unmarked() -> bool:
        return CONFIRMED_HEALTHY not in await _annotations(world, node)

    await world.until(is_unmarked, f"{node} is still marked as healthy")


async def _until_being_deleted(world: World, node: str) -> None:
    """Wait until only a finalizer keeps the request of a node."""

    async def is_being_deleted() -> bool:
        return "deletionTimestamp" in (await world.request(node))["metadata"]

    await world.until(is_being_deleted, f"nobody deletes the request of {node}")
