"""Kinds of requests that are replaced during an incident."""

import pytest

from tests.support.story.other_kind import OtherKind
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


async def test_a_template_of_another_kind_never_leads_to_a_second_request_for_a_node(
    other_kind: OtherKind, world: World, paramedic: Paramedic
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_phase(node, "Remediating")
    await world.until_status(phase="Remediating")

    await world.edit_check(remediationTemplate=other_kind.template)
    await paramedic.detector.kill()
    await paramedic.detector.start_ready()
    await world.until_looked_at(node)
    assert world.requests.existing(node) == 1
    assert await other_kind.names() == []

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    assert await other_kind.names() == []
