"""Shadow mode beside the present controller: an incident records its steps and writes nothing."""

import json
from datetime import UTC, datetime

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.moves import Outcome
from health.policy.policy_in_force import SHADOW
from kube.resource import Object
from tests.support.story.world import KIND, REQUESTS, World
from workflows.messages import State

pytestmark = pytest.mark.cluster

OURS = "system:serviceaccount:paramedic-system:"
WRITES = {"create", "update", "patch", "delete", "deletecollection"}
OF_OURSELVES = "paramedic-system"


@pytest.mark.rule("rule 43")
async def test_nothing_is_written_in_shadow_and_what_both_would_do_is_recorded_until_it_is_left(
    world: World, control_plane: ControlPlane
) -> None:
    began = datetime.now(UTC)
    both, real = await world.add_nodes(2)
    await world.add_check(annotations={SHADOW: "true"})
    await world.fail(both)
    await world.until_phase(both, "Remediating")
    await _present_controller_makes_request(world, both)
    await _until_recorded(world, both, is_over=False)

    await world.recover(both)
    await world.until_phase(both, "CleaningUp")
    await world.client.delete(REQUESTS, both, "default")
    assert await world.outcome(both) == Outcome.WOULD_HAVE_REMEDIATED
    result = await (await world.workflow(both)).result()
    (would_have,), (other,) = result["shadow"]["steps"], result["shadow"]["others"]
    assert (would_have["number"], would_have["template"]["name"]) == (1, world.name)
    assert (other["request"], other["ended"] is not None) == (f"{KIND}/default/{both}", True)

    await world.fail(real)
    await world.until_phase(real, "Remediating")
    assert _written(control_plane, began) == []
    await _annotate(world, None)
    await world.until_requested(real)
    await world.until_status(phase="Remediating")
    await world.recover(real)
    assert await world.outcome(real) == Outcome.REMEDIATED
    assert _written(control_plane, began) != []


async def _present_controller_makes_request(world: World, node: str) -> None:
    check = await world.check()
    owner = {key: check[key] for key in ("apiVersion", "kind")}
    owner |= {"name": world.name, "uid": check["metadata"]["uid"]}
    body: Object = {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {
            "name": node,
            "annotations": {"remediation.medik8s.io/template-name": world.name},
            "ownerReferences": [owner],
        },
        "spec": {},
    }
    await world.client.create(REQUESTS, body, "default")


async def _until_recorded(world: World, node: str, *, is_over: bool) -> None:
    async def is_recorded() -> bool:
        state: State = await world.state(node)
        return [other.ended is not None for other in state.memory.shadow.others] == [is_over]

    await world.until(is_recorded, "what the present controller did was not recorded")


async def _annotate(world: World, value: str | None) -> None:
    patch = {"metadata": {"annotations": {SHADOW: value}}}
    await world.client.merge_patch(NODE_HEALTH_CHECKS, world.name, patch)


def _written(control_plane: ControlPlane, since: datetime) -> list[str]:
    """Writes of our processes since then, except leader election and their own status."""
    found = []
    for line in control_plane.audit_log.read_text().splitlines():
        event = json.loads(line)
        if not event["user"]["username"].startswith(OURS) or event["verb"] not in WRITES:
            continue
        what = event.get("objectRef", {})
        is_ours = what.get("namespace") == OF_OURSELVES
        if not is_ours and datetime.fromisoformat(event["requestReceivedTimestamp"]) > since:
            found.append(f"{event['verb']} {event['requestURI']}")
    return found
