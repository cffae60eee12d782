"""Pauses of a check and of its Cluster, and Machines that users exclude or mark for remediation."""

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end.cluster_api.fleet import INITIALIZED, OWNER, READY, SUCCEEDED, Fleet
from tests.support.story.audit import writes
from tests.support.story.machine_incidents import CHECK

pytestmark = pytest.mark.cluster

PAUSED = "cluster.x-k8s.io/paused"
REMEDIATE = "cluster.x-k8s.io/remediate-machine"
BY_CLUSTER, BY_ITSELF = (
    "Cluster spec.paused is set to true",
    f"MachineHealthCheck has the {PAUSED} annotation",
)


@pytest.mark.rule(
    "CAPI B.2.7/nothing",
    "CAPI B.2.7/clock",
    "CAPI B.1/status/Paused",
    "CAPI B.2.1/Cluster",
    "CAPI B.2.1/check",
)
async def test_pause_by_annotation_or_cluster_writes_paused_and_nothing_else_until_it_ends(
    fleet: Fleet, control_plane: ControlPlane
) -> None:
    failed, healthy = await fleet.add("failed", "healthy")
    check = await fleet.add_check()
    await fleet.until_healthy(failed, healthy)
    await check.until_numbers(2, 2, 2)
    await check.pause()
    await check.until_condition("Paused", status="True", message=BY_ITSELF)
    await fleet.pause_cluster(paused=True)
    await check.until_condition("Paused", status="True", message=f"{BY_CLUSTER}, {BY_ITSELF}")
    await check.unpause()
    await check.until_condition("Paused", status="True", message=BY_CLUSTER)
    before = writes(control_plane.audit_log, fleet.namespace)
    await fleet.nodes.fail(failed)

    await fleet.until_held(failed, f"Paused: {BY_CLUSTER}")
    assert writes(control_plane.audit_log, fleet.namespace) == before
    await fleet.pause_cluster(paused=False)
    await fleet.until_marked(failed)
    await check.until_condition("Paused", status="False", reason="NotPaused")
    await check.until_numbers(2, 1, 1)
    assert not await fleet.events(CHECK)


@pytest.mark.rule(
    "CAPI B.2.3/annotation",
    "CAPI B.2.3/control plane",
    "CAPI B.2.3/infrastructure",
    "CAPI B.2.3/startup",
    "CAPI B.2.3/startup base",
    "CAPI B.1/annotation/remediate-machine",
    "rule 45/gates",
    "rule 45/counting",
)
async def test_gates_of_the_cluster_keep_all_machines_from_being_judged_but_those_that_a_person_asks_for(
    fleet: Fleet,
) -> None:
    await fleet.set_cluster(**{INITIALIZED: "False", READY: "False"})
    failed, wanted = await fleet.add("failed", "wanted")
    starting = await fleet.add_alone(f"{fleet.namespace}-starting")
    await fleet.nodes.fail(failed)
    await fleet.set_metadata(wanted, annotations={REMEDIATE: ""})
    conditions = [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 1}]
    check = await fleet.add_check(
        checks={"nodeStartupTimeoutSeconds": 3, "unhealthyNodeConditions": conditions}
    )

    await fleet.until_marked(wanted)
    assert (await fleet.condition(wanted, SUCCEEDED))["reason"] == "HasRemediateAnnotation"
    await check.until_numbers(3, 0, 0)
    await fleet.set_cluster(**{INITIALIZED: "True"})
    await check.until_numbers(3, 1, 1)  # its Node is observed now, and not judged yet
    for name in (failed, starting):
        assert not await fleet.condition(name, OWNER)
    await fleet.set_cluster(**{READY: "True"})
    await fleet.until_marked(failed, starting)
    assert (await fleet.condition(starting, SUCCEEDED))["reason"] == "NodeStartupTimeout"
    assert (await fleet.condition(failed, SUCCEEDED))["reason"] == "UnhealthyNode"
