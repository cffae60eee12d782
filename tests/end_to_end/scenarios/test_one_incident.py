"""One incident through a real Temporal server and a real kube-apiserver."""

from datetime import datetime

import pytest

from health.model.evidence import LABEL, PREFIX
from kube.resource import CONFIG_MAPS, EVENTS
from runtime.process_names import NAMESPACE
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import KIND, World
from tests.support.values.metric_samples import series

pytestmark = pytest.mark.cluster


@pytest.mark.rule(
    "NHC 1.2/observedNodes",
    "NHC 1.2/healthyNodes",
    "NHC 1.2/unhealthyNodes/remediations",
    "NHC 1.4/Remediating",
    "NHC 1.4/Enabled",
    "NHC 1.5/Enabled",
    "NHC 1.5/DetectedUnhealthy",
    "NHC 1.5/RemediationCreated",
    "NHC 1.5/RemediationRemoved",
    "NHC 2.1/3",
    "NHC 2.1/13",
    "NHC 2.1/14",
    "NHC 2.4/3",
    "NHC 2.4/5",
    "NHC 1.5/form",
)
async def test_a_failed_node_gets_a_request_and_is_clean_again_after_its_recovery(
    world: World, paramedic: Paramedic
) -> None:
    earlier = {"name": f"{PREFIX}{world.name}", "labels": {LABEL: "true"}}
    await world.client.create(CONFIG_MAPS, {"metadata": earlier}, NAMESPACE)
    (node, *_) = await world.add_nodes(3)
    await world.add_check(duration="2s", annotations={LABEL: "ConfigMap"}, minHealthy="51%")
    await world.until_status(observedNodes=3, healthyNodes=3, phase="Enabled")

    await world.fail(node)
    await world.until_requested(node)

    request = await world.request(node)
    check = await world.check()
    incident = await world.incident(node)
    assert request["spec"] == {"powerOffSeconds": 7}
    assert request["metadata"]["labels"] == {
        "app.kubernetes.io/part-of": "node-healthcheck-controller",
        "paramedic.dev/installation": world.cluster,
    }
    assert request["metadata"]["annotations"] == {
        "remediation.medik8s.io/node-name": node,
        "remediation.medik8s.io/template-name": world.name,
        "paramedic.dev/incident": incident.workflow_id,
        "paramedic.dev/target-uid": incident.target.uid,
    }
    assert request["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "remediation.medik8s.io/v1alpha1",
            "kind": "NodeHealthCheck",
            "name": world.name,
            "uid": check["metadata"]["uid"],
            "controller": False,
        }
    ]
    lease = await world.lease(node)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == f"NodeHealthCheck-{world.name}"
    assert lease["spec"]["leaseDurationSeconds"] == 660
    await world.until_phase(node, "Remediating")
    evidence = (await world.state(node)).memory.evidence
    assert evidence is not None
    assert (evidence.problem, evidence.lacks) == (None, ())
    saved = await world.client.get(CONFIG_MAPS, evidence.name, evidence.namespace)
    assert saved["metadata"]["annotations"]["paramedic.dev/workflow-id"] == incident.workflow_id
    assert "status: Unknown" in saved["data"]["node.yaml"]
    in_order = (saved, lease, request)
    created = [datetime.fromisoformat(one["metadata"]["creationTimestamp"]) for one in in_order]
    assert created == sorted(created)
    (kept,) = await world.client.list(CONFIG_MAPS, NAMESPACE, LABEL)  # the setting allows one document
    assert kept["metadata"]["uid"] == saved["metadata"]["uid"]
    await world.until_status(
        healthyNodes=2,
        phase="Remediating",
        reason="NHC is remediating 1 nodes",
        unhealthyNodes=[
            {
                "name": node,
                "remediations": [
                    {
                        "resource": {
                            "apiVersion": "demo.paramedic.dev/v1",
                            "kind": "PowerCycleRemediation",
                            "namespace": "default",
                            "name": node,
                            "uid": request["metadata"]["uid"],
                        },
                        "started": request["metadata"]["creationTimestamp"],
                        "templateName": world.name,
                    }
                ],
            }
        ],
    )

    gauge = series("nodehealthcheck_ongoing_remediation", name=node, namespace="default", remediation=KIND)
    assert (await paramedic.detector.metrics())[gauge] == 1

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    await world.until_status(healthyNodes=3, phase="Enabled", unhealthyNodes=None)
    assert world.requests.created(node) == 1

    async def is_reported() -> bool:
        return len(await world.events()) == 4

    await world.until(is_reported, f"events: {await world.events()}")
    for event in await world.client.list(EVENTS, "default"):
        if event["involvedObject"]["name"] == world.name:
            assert event["message"].startswith("[remediation] ")
            assert event["source"]["component"] == "NodeHealthCheck"
            assert event["involvedObject"]["kind"] == "NodeHealthCheck"
            assert event["involvedObject"]["uid"] == check["metadata"]["uid"]
    assert [(severity, reason) for severity, reason, _ in await world.events()] == [
        ("Normal", "Enabled"),
        ("Normal", "DetectedUnhealthy"),
        ("Normal", "RemediationCreated"),
        ("Normal", "RemediationRemoved"),
    ]
