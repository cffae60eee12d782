"""Nodes that are deleted or recreated during an incident."""

import pytest

from kube.errors import NotFound
from kube.resource import Object
from tests.support.story.outcome import outcome_of
from tests.support.story.remediator import report
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


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


async def _until_another(world: World, node: str, uid: str) -> Object:
    async def is_another() -> bool:
        try:
            return bool((await world.request(node))["metadata"]["uid"] != uid)
        except NotFound:
            return False

    await world.until(is_another, f"{node} never had another request")
    return await world.request(node)
