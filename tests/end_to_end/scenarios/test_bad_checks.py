"""Checks and templates that cannot be used: each affects itself alone, and says what is wrong with it."""

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.resource import Object
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster


@pytest.mark.rule("NHC 1.3/Disabled/RemediationTemplateNotFound", "rule 8")
async def test_a_check_whose_remediation_kind_is_unknown_is_disabled_and_blinds_nobody(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    unknown: Object = {
        "apiVersion": NODE_HEALTH_CHECKS.api_version,
        "kind": NODE_HEALTH_CHECKS.kind,
        "metadata": {"name": f"{world.name}-unknown"},
        "spec": {
            "selector": {"matchLabels": {"test": world.name}},
            "minHealthy": 0,
            "remediationTemplate": {"apiVersion": "nobody.example/v1", "kind": "NoTemplate", "name": "none"},
        },
    }
    await world.client.create(NODE_HEALTH_CHECKS, unknown)
    await world.fail(node)

    await world.until_requested(node)

    async def is_disabled() -> bool:
        check = await world.client.get(NODE_HEALTH_CHECKS, f"{world.name}-unknown")
        conditions = check.get("status", {}).get("conditions", [])
        return [c["reason"] for c in conditions if c["status"] == "True"] == ["RemediationTemplateNotFound"]

    await world.until(is_disabled, "the check never was disabled")
    await world.client.delete(NODE_HEALTH_CHECKS, f"{world.name}-unknown")
