"""Nodes that are deleted, and that come back under their name, in the middle of an incident."""

import pytest

from kube.errors import NotFound
from kube.resource import Object
from tests.end_to_end.escalation import Escalation
from tests.end_to_end.phases import add_phases
from tests.end_to_end.remediator import report
from tests.end_to_end.second_check import events_of
from tests.end_to_end.world import World
from tests.outcome import outcome_of

pytestmark = pytest.mark.cluster


@pytest.mark.rule("NHC 2.0/node deleted", "NHC 2.7/node deleted", "NHC 2.7/entry without request", "rule 11")
async def test_node_that_is_deleted_in_whatever_phase_leaves_nothing_behind(world: World) -> None:
    phases = await add_phases(world)
    escalation = Escalation(world)

    async def is_listed() -> bool:
        return set(await escalation.in_status(phases.escalated)) == {"1", "2"}

    await world.until(is_listed, "the second step was never listed")
    await world.until_status(phase="Remediating", observedNodes=4, healthyNodes=0)
    workflows = [await world.workflow(node) for node in phases.all]

    for node in phases.all:
        await world.delete_node(node)

    assert [await outcome_of(workflow) for workflow in workflows] == ["Gone"] * 4
    await world.until_clean(*phases.all)
    await world.until_status(phase="Enabled", observedNodes=0, healthyNodes=0, unhealthyNodes=None)

    async def are_told() -> bool:
        told = [reason for _, reason, _ in await events_of(world, world.name)]
        return told.count("RemediationRemoved") == 3

    await world.until(are_told, "the removal of the three requests was not told")


@pytest.mark.rule(
    "NHC 2.1/12/PermanentNodeDeletionExpected",
    "NHC 2.7/node deleted",
    "NHC 2.7/node recreated",
    "rule 11/recreated",
)
async def test_request_that_expects_the_end_of_its_node_is_kept_until_it_succeeds_or_the_name_is_there_again(
    world: World,
) -> None:
    names = await world.add_named_nodes("expected", "other", "sound", "sick")
    expected, other, sound, sick = names.values()
    await world.add_check()
    await world.fail(*names.values())
    await world.until_requested(*names.values())
    uids = {node: (await world.request(node))["metadata"]["uid"] for node in names.values()}
    earlier = [await world.workflow(node) for node in (sound, sick)]
    for node in (expected, sound, sick):
        await report(world, node, PermanentNodeDeletionExpected="True", Processing="True")
    for node in names.values():
        await world.delete_node(node)
    await world.until_clean(other)
    await world.until_status(phase="Remediating", observedNodes=0, reason="NHC is remediating 3 nodes")
    for node in (expected, sound, sick):
        metadata = (await world.request(node))["metadata"]
        assert metadata["uid"] == uids[node]
        assert "deletionTimestamp" not in metadata

    await report(world, expected, PermanentNodeDeletionExpected="True", Succeeded="True")
    await world.until_clean(expected)
    await world.recreate_node(sound, ready="True")
    await world.recreate_node(sick, ready="Unknown")

    await world.until_clean(sound)
    await _until_another(world, sick, uids[sick])
    assert [await outcome_of(workflow) for workflow in earlier] == ["Gone"] * 2
    await world.until_phase(sick, "Remediating")
    await world.until_status(phase="Remediating", observedNodes=2, healthyNodes=1)
    (entry,) = (await world.status())["unhealthyNodes"]
    assert entry["name"] == sick
    assert not await world.has_incident(sound)
    await world.recover(sick)
    await world.until_clean(sick)
    await world.until_status(phase="Enabled", healthyNodes=2, unhealthyNodes=None)


@pytest.mark.rule("NHC 2.7/node recreated", "rule 11/recreated")
async def test_node_of_the_same_name_waits_for_the_request_of_the_earlier_one_and_has_its_own_if_it_is_sick(
    world: World,
) -> None:
    sick, sound = nodes = (await world.add_named_nodes("sick", "sound")).values()
    await world.add_check()
    await world.fail(*nodes)
    for node in nodes:
        await world.until_phase(node, "Remediating")
    await world.set_finalizers(sick, ["paramedic.test/wait"])
    earlier, uid = await world.workflow(sick), (await world.request(sick))["metadata"]["uid"]

    for node in nodes:
        await world.delete_node(node)
    await world.recreate_node(sick, ready="Unknown")
    await world.recreate_node(sound, ready="True")
    await world.until_phase(sick, "Held")
    assert "EarlierRequest" in (await world.state(sick)).details
    await world.until_clean(sound)
    await world.until_status(phase="Remediating", observedNodes=2, healthyNodes=1)
    assert not await world.has_incident(sound)
    assert (await world.request(sick))["metadata"]["uid"] == uid
    await world.set_finalizers(sick, None)

    assert await outcome_of(earlier) == "Gone"
    await world.until_phase(sick, "Remediating")
    request = await _until_another(world, sick, uid)
    assert "deletionTimestamp" not in request["metadata"]
    assert await world.lease(sick) is not None
    await world.recover(sick)
    await world.until_clean(sick)
    assert [world.requests.created(node) for node in nodes] == [2, 1]


async def _until_another(world: World, node: str, uid: str) -> Object:
    async def is_another() -> bool:
        try:
            return bool((await world.request(node))["metadata"]["uid"] != uid)
        except NotFound:
            return False

    await world.until(is_another, f"{node} never had another request")
    return await world.request(node)
