"""Kinds of requests that are replaced, or not granted, in the middle of an incident."""

from collections.abc import AsyncIterator

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.other_kind import OtherKind, installed_kind
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster


@pytest.fixture
async def other(control_plane: ControlPlane) -> AsyncIterator[OtherKind]:
    """A second kind that we have no rights on yet; a test asks for it before the world, which goes first."""
    async with installed_kind(control_plane) as kind:
        yield kind


async def test_a_template_of_another_kind_never_leads_to_a_second_request_for_a_node(
    other: OtherKind, world: World, paramedic: Paramedic
) -> None:
    await other.grant()
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_phase(node, "Remediating")
    await world.until_status(phase="Remediating")

    await world.edit_check(remediationTemplate=other.template)
    await paramedic.detector.kill()
    await paramedic.detector.start_ready()
    await world.until_looked_at(node)
    assert world.requests.existing(node) == 1
    assert await other.names() == []

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    assert await other.names() == []


@pytest.mark.rule("rule 3", "rule 17", "NHC 2.0/template", "NHC 2.1/5")
async def test_a_right_that_is_missing_holds_visibly_and_to_get_templates_is_enough(
    other: OtherKind, world: World, paramedic: Paramedic
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check(remediationTemplate=other.template)
    await world.fail(node)

    await world.until_phase(node, "Held")
    assert "forbidden" in (await world.state(node)).details
    await world.until_status(phase="Disabled", observedNodes=1, healthyNodes=0)
    assert "forbidden" in (await world.status())["reason"]
    assert (await paramedic.detector.readiness())[0] == 200, "other checks work"
    part = f"templates of kind ResetTemplate ({other.api_version})"
    said = paramedic.detector.log.read_text().splitlines()
    assert any("checks are held" in line and part in line for line in said)
    # Many remediators grant no more than to get their templates.
    await other.grant("get")

    async def is_requested() -> bool:
        return await other.names() == [node]

    await world.until(is_requested, "no request after the right was granted")
    await world.recover(node)
    assert await world.outcome(node) == "Remediated"

    await world.edit_check(remediationTemplate=other.template | {"name": "missing"})
    missing = 'Remediation template not found: "ResetTemplate/default/missing not found"'
    await world.until_status(
        phase="Disabled", reason=f"NHC is disabled: RemediationTemplateNotFound: {missing}"
    )
    assert (await paramedic.detector.readiness())[0] == 200
