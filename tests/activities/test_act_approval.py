"""Each act reads again whether its check or template requires the approval of a person."""

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS, TEMPLATES
from health.check.template_validity import Template
from health.model.observation import HoldReason
from tests.activities.evidence import evidence_asked
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import NAMESPACE, World

pytestmark = pytest.mark.cluster

REQUIRED = {"paramedic.dev/require-approval": "true"}


async def test_act_refuses_a_step_without_the_approval_that_its_check_requires(
    world: World, worker: WorkerActivities
) -> None:
    await world.client.merge_patch(NODE_HEALTH_CHECKS, world.name, {"metadata": {"annotations": REQUIRED}})
    result = await worker.act(world.order())
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    why = "requires the approval of a person, and the step has none"
    assert result.hold.message == f"NodeHealthCheck/{world.name} {why}"
    assert (await world.request(), await world.lease()) == (None, None)
    evidence = await worker.save_evidence(evidence_asked(world.order()))
    assert evidence.hold is not None
    assert evidence.hold.message.endswith(why)
    assert (await worker.act(world.order(is_approved=True))).request is not None


@pytest.mark.parametrize(
    ("value", "why"),
    [("true", "requires the approval of a person, and the step has none"), ("yes", "(found 'yes')\"")],
)
async def test_act_refuses_a_step_whose_template_requires_an_approval_or_cannot_be_read(
    world: World, worker: WorkerActivities, value: str, why: str
) -> None:
    await world.remove_template()
    await world.make_template({"paramedic.dev/require-approval": value})
    result = await worker.act(world.order())
    assert result.hold is not None
    assert result.hold.message.endswith(why)
    assert (await world.request(), await world.lease()) == (None, None)
    approved = await worker.act(world.order(is_approved=True))
    assert (approved.request is not None) is (value == "true")


async def test_act_refuses_a_template_that_was_edited_since_its_approval(
    world: World, worker: WorkerActivities
) -> None:
    found = await world.client.get(TEMPLATES, world.name, NAMESPACE)
    version = Template.model_validate(found).version
    edit = {"spec": {"template": {"spec": {"powerOffSeconds": 700}}}}
    await world.client.merge_patch(TEMPLATES, world.name, edit, NAMESPACE)
    result = await worker.act(world.order(is_approved=True, approved_version=version))
    assert result.hold is not None
    assert result.hold.message.endswith("was edited since its approval")
    assert (await world.request(), await world.lease()) == (None, None)
    found = await world.client.get(TEMPLATES, world.name, NAMESPACE)
    version = Template.model_validate(found).version
    assert (await worker.act(world.order(is_approved=True, approved_version=version))).request is not None
