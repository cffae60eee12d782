"""Storm recovery, from the first breach of the threshold to the requests after the cooldown."""

from datetime import datetime, timedelta

import pytest

from kube.resource import Object
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

COOLING = timedelta(seconds=10)
"""Long enough to be observed."""
SOON = timedelta(seconds=20)
"""Far less than the time after which a detector would evaluate the check again without a change."""
STORM, COOLDOWN = "StormActive", "StormCooldownActive"


async def conditions(world: World) -> dict[str, Object]:
    """The conditions of the check, by type."""
    return {condition["type"]: condition for condition in (await world.status()).get("conditions", ())}


async def until_conditions(world: World, **statuses: str) -> dict[str, datetime]:
    """Wait until the conditions of a storm have these statuses, and return the time of each."""

    async def are_so() -> bool:
        found = await conditions(world)
        return all(found.get(type_, {}).get("status") == status for type_, status in statuses.items())

    await world.until(are_so, f"the conditions never were {statuses}")
    found = await conditions(world)
    return {type_: datetime.fromisoformat(found[type_]["lastTransitionTime"]) for type_ in statuses}


async def until_held(world: World, node: str, reason: str) -> None:
    """Wait until the incident of a node is held for that reason."""

    async def is_held() -> bool:
        return await world.has_incident(node) and f"{reason}: " in (await world.state(node)).details

    await world.until(is_held, f"{node} never was held by {reason}")


async def created(world: World, node: str) -> datetime:
    return datetime.fromisoformat((await world.request(node))["metadata"]["creationTimestamp"])


async def storm_events(world: World) -> list[tuple[str, str]]:
    """Type and reason of the Events about storms, in order."""
    return [(type_, reason) for type_, reason, message in await world.events() if "torm" in message]


@pytest.mark.rule(
    "NHC 2.3/2",
    "NHC 2.3/4",
    "NHC 2.3/5",
    "NHC 2.3/6",
    "NHC 2.3/conditions",
    "NHC 2.3/clean-up",
    "NHC 1.5/StormRecoveryStarted",
    "NHC 1.5/StormRecoveryCooldownStarted",
    "NHC 1.5/StormRecoveryEnded",
    "NHC 1.5/RemediationSkipped/storm",
    "NHC 2.7/restart",
    "NHC 1.3/lastTransitionTime",
    "rule 7",
)
async def test_storm_holds_what_is_new_until_its_cooldown_is_over_and_keeps_its_times_over_a_restart(
    world: World, paramedic: Paramedic
) -> None:
    first, *others = (await world.add_nodes(5))[:3]
    # A shorter duration could end for the second node before the detector has seen the third fail.
    await world.add_check(duration="3s", minHealthy=3, stormCooldownDuration="10s")
    await world.fail(first)
    await world.until_requested(first)
    assert STORM not in await conditions(world)

    await world.fail(*others)
    storm = await until_conditions(world, **{STORM: "True", COOLDOWN: "False"})
    for node in others:
        await until_held(world, node, "Threshold")
    assert world.requests.existing(first) == 1

    # The request of a node that recovers is removed during the storm, and then the threshold holds again.
    await world.recover(first)
    assert await world.outcome(first) == "Remediated"
    await world.until_clean(first)
    began = await until_conditions(world, **{STORM: "True", COOLDOWN: "True"})
    assert began[STORM] == storm[STORM]
    for node in others:
        await until_held(world, node, "Storm")
    assert [world.requests.created(node) for node in others] == [0, 0]
    await paramedic.detector.kill()
    await paramedic.detector.start_ready()

    await world.until_requested(*others)
    for node in others:
        assert await created(world, node) - began[COOLDOWN] >= COOLING
    ended = await until_conditions(world, **{STORM: "False", COOLDOWN: "False"})
    assert ended[STORM] - began[COOLDOWN] <= COOLING + SOON

    told = [
        ("Warning", "StormRecoveryStarted"),
        ("Warning", "StormRecoveryCooldownStarted"),
        ("Warning", "RemediationSkipped"),
        ("Normal", "StormRecoveryEnded"),
    ]

    async def is_reported() -> bool:
        return await storm_events(world) == told

    await world.until(is_reported, f"Events: {await storm_events(world)}")
