"""An act reads the signs of owners at work live, and passes those that its admission names."""

from datetime import UTC, datetime
from typing import Any

import pytest

from health.model.admission import Admission
from health.model.observation import HoldReason
from health.model.owner_signs import OwnerSign
from health.policy.policy import KEY, POLICY
from kube.resource import CONFIG_MAPS, NODES
from objects.timestamps import stamp
from tests.activities.worker_activities import POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 59", "rule 2")]

CONFIG = "machineconfiguration.openshift.io"
CHANGING = {f"{CONFIG}/currentConfig": "a", f"{CONFIG}/desiredConfig": "b"}
TAINT = {"spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}}
REBOOTING = {"weave.works/kured-reboot-in-progress": stamp(datetime.now(UTC))}
SIGNS = [
    pytest.param({"metadata": {"annotations": CHANGING}}, OwnerSign.MACHINE_CONFIG, id="machine config"),
    pytest.param({"metadata": {"annotations": REBOOTING}}, OwnerSign.KURED, id="kured"),
    pytest.param(TAINT, OwnerSign.KARPENTER, id="karpenter"),
]


@pytest.mark.parametrize(("patch", "sign"), SIGNS)
async def test_act_refuses_while_an_owner_works_unless_the_admission_passes_the_sign(
    world: World, worker: WorkerActivities, patch: dict[str, Any], sign: OwnerSign
) -> None:
    await world.client.merge_patch(NODES, world.name, patch)
    refused = await worker.act(world.order(admission=Admission(passed_signs=("taint example.com/a",))))
    assert refused.hold is not None
    assert (refused.hold.reason, refused.hold.ask_again_seconds) == (HoldReason.OWNER_AT_WORK, 2)
    assert (await world.request(), await world.lease()) == (None, None)

    passed = await worker.act(world.order(admission=Admission(passed_signs=(sign,))))
    assert passed.request is not None


async def test_act_goes_on_when_the_sign_says_that_the_work_failed(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={**CHANGING, f"{CONFIG}/state": "Degraded"})
    assert (await worker.act(world.order())).request is not None


async def test_node_that_is_being_deleted_gets_no_request(world: World, worker: WorkerActivities) -> None:
    await world.patch_node(finalizers=["test/keeps"])
    await world.client.delete(NODES, world.name)
    try:
        refused = await worker.act(world.order())
        assert refused.hold is not None
        assert "the Node is being deleted" in refused.hold.message
    finally:
        await world.patch_node(finalizers=None)


async def test_act_reads_the_signs_that_the_policy_leaves_out(world: World, worker: WorkerActivities) -> None:
    body = {"metadata": {"name": POLICY}, "data": {KEY: "heldNodes: {without: [Karpenter]}"}}
    await world.client.create(CONFIG_MAPS, body, POLICY_NAMESPACE)
    try:
        await world.client.merge_patch(NODES, world.name, TAINT)
        assert (await worker.act(world.order())).request is not None
    finally:
        await world.client.delete(CONFIG_MAPS, POLICY, POLICY_NAMESPACE)
