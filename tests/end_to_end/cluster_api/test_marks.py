"""Marks of v1beta2: the conditions of each Machine, the request to its owner, and the status of the check."""

import asyncio

import pytest

from health.model.evidence import LABEL
from kube.resource import CONFIG_MAPS
from runtime.process_names import NAMESPACE
from tests.end_to_end.cluster_api.fleet import CLUSTER, OWNER, SUCCEEDED, Fleet
from tests.support.story.machine_incidents import CHECK

pytestmark = pytest.mark.cluster

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
FAILED = "Condition Ready on Node is reporting status Unknown with reason  for more than 1s"
NOT_ALLOWED = "Remediation is not allowed, the number of not started or unhealthy machines"
WRITERS = 3


@pytest.mark.rule(
    "CAPI B.1/condition/HealthCheckSucceeded",
    "CAPI B.1/condition/OwnerRemediated",
    "CAPI B.1/condition/form",
    "CAPI B.1/condition/others",
    "CAPI B.1/event/MachineMarkedUnhealthy",
    "CAPI B.1/label",
    "CAPI B.1/owner",
    "CAPI B.1/status/targets",
    "CAPI B.2.5/mark",
    "CAPI B.2.5/healthy",
    "CAPI B.2.6/fields",
    "rule 30",
    "rule 33",
)
async def test_failed_machine_is_marked_between_the_writes_of_others_and_healthy_ones_are_said_to_be_so(
    fleet: Fleet,
) -> None:
    failed, *healthy = await fleet.add("a", "b", "c")
    check = await fleet.add_check(annotations={LABEL: "ConfigMap"})
    await fleet.until_healthy(failed, *healthy)
    async with fleet.foreign_writers(failed, WRITERS):
        await fleet.nodes.fail(failed)
        await fleet.until_marked(failed)
        await fleet.until_told(failed, "MachineMarkedUnhealthy")

    told = await fleet.condition(failed, SUCCEEDED)
    assert (told["reason"], told["message"]) == ("UnhealthyNode", f"Health check failed:\n  * {FAILED}")
    asked = await fleet.condition(failed, OWNER)
    assert (asked["reason"], asked["message"]) == ("WaitingForRemediation", "Waiting for remediation")
    assert "severity" not in told
    twin = await fleet.twin(failed, SUCCEEDED)
    assert (twin["status"], twin["reason"], twin["severity"]) == ("False", "UnhealthyNode", "Warning")
    assert (await fleet.twin(failed, OWNER))["severity"] == "Warning"
    await check.until_numbers(3, 2, 2)
    assert (await check.condition("RemediationAllowed"))["status"] == "True"
    assert (await check.condition("Paused"))["reason"] == "NotPaused"
    stored = await check.get()
    assert stored["status"]["targets"] == sorted((failed, *healthy))
    assert stored["metadata"]["labels"] == {CLUSTER_NAME: CLUSTER}
    (owner,) = stored["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner.get("controller", False)) == ("Cluster", CLUSTER, False)
    for name in healthy:
        assert not await fleet.condition(name, OWNER)
        assert not await fleet.events(name)
    assert len(await fleet.events(failed)) == 1
    # The Node is in the workload cluster, so no evidence of it is saved.
    (evidence,) = await fleet.client.list(CONFIG_MAPS, NAMESPACE, LABEL)
    assert f"uid: {(await fleet.get(failed))['metadata']['uid']}" in evidence["data"]["machine.yaml"]
    assert "status: Unknown" in evidence["data"]["node.yaml"]
    assert "lacks" not in evidence["data"]["incident.yaml"]


@pytest.mark.rule(
    "rule 31",
    "CAPI B.2.4/threshold",
    "CAPI B.2.4/rounding",
    "CAPI B.2.4/range",
    "CAPI B.2.4/blocked",
    "CAPI B.1/unhealthyInRange",
    "CAPI B.1/refused",
    "CAPI B.1/status/RemediationAllowed",
    "CAPI B.1/event/RemediationRestricted",
)
async def test_threshold_marks_no_machine_and_is_printed_with_the_numbers_that_decided(
    fleet: Fleet,
) -> None:
    *failed, healthy = await fleet.add("a", "b", "c")
    await fleet.add_alone(f"{fleet.namespace}-without-a-node")
    check = await fleet.add_check(remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}})
    await check.until_numbers(4, 3, 0)
    await fleet.nodes.fail(*failed)

    numbers = "exceeds maxUnhealthy (total: 4, unhealthy: 3, maxUnhealthy: 40%)"
    await check.until_condition("RemediationAllowed", message=f"{NOT_ALLOWED} {numbers}")
    await asyncio.gather(*(fleet.until_said(name, SUCCEEDED, status="False") for name in failed))
    await asyncio.gather(*(fleet.until_held(name, "Threshold: ") for name in failed))
    assert (await fleet.until_told(CHECK, "RemediationRestricted"))["type"] == "Warning"
    await check.edit(remediation={"triggerIf": {"unhealthyInRange": "[1-2]"}})
    numbers = "does not fall within the range (total: 4, unhealthy: 3, unhealthyRange: [1-2])"
    await check.until_condition("RemediationAllowed", message=f"{NOT_ALLOWED} {numbers}")
    await check.edit(remediation={"triggerIf": {"unhealthyInRange": "[5-3]"}})
    refused = await check.until_condition("RemediationAllowed", reason="InvalidSpec")
    assert "unhealthyInRange" in refused["message"]
    assert "[5-3]" in refused["message"]
    await fleet.until_held(failed[0], "InvalidCheck: ")
    for name in failed:
        assert not await fleet.condition(name, OWNER)

    await check.edit(remediation={"triggerIf": {"unhealthyInRange": "[1-3]"}})
    await fleet.until_marked(*failed)
    await check.until_condition("RemediationAllowed", status="True")
    assert not await fleet.condition(healthy, OWNER)
