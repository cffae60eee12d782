"""A remediation request for a Machine: its content, and the owner of a request that exists already."""

import pytest

from health.model.observation import HoldReason
from health.model.references import Step
from health.model.remediation_request import INCIDENT, TARGET_UID
from kube.resource import NODES
from tests.activities.machine_world import CHECKS, MachineWorld
from tests.activities.worker_activities import LABELS, WorkerActivities
from tests.activities.world import NAMESPACE, POD_TEMPLATES
from workflows.contracts import RequestExists

pytestmark = pytest.mark.cluster

SET_BY_THE_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


@pytest.fixture
async def requesting(machine_world: MachineWorld) -> MachineWorld:
    await machine_world.use_template()
    return machine_world


@pytest.mark.rule("MHC A.2.5/request", "MHC A.1/annotation/cloned-from")
async def test_act_makes_the_request_that_remediators_of_machines_expect(
    requesting: MachineWorld, worker: WorkerActivities
) -> None:
    result = await worker.act(requesting.order_request(attempt=2))

    made = await requesting.request()
    assert isinstance(result.outcome, RequestExists)
    assert result.outcome.request.uid == made["metadata"]["uid"]
    assert result.outcome.lease_acquired_at is not None
    assert await requesting.machine_lease() is not None
    for field in SET_BY_THE_SERVER:
        del made["metadata"][field]
    machine = {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "name": requesting.name,
        "uid": requesting.machine_uid,
    }
    assert made == {
        "apiVersion": "demo.paramedic.dev/v1",
        "kind": "PowerCycleRemediation",
        "metadata": {
            "name": requesting.name,
            "namespace": NAMESPACE,
            "labels": LABELS,
            "annotations": {
                "machine.openshift.io/cloned-from-name": requesting.name,
                "machine.openshift.io/cloned-from-groupkind": (
                    "PowerCycleRemediationTemplate.demo.paramedic.dev"
                ),
                INCIDENT: requesting.incident.workflow_id,
                TARGET_UID: requesting.machine_uid,
                "paramedic.dev/attempt": "2",
            },
            "ownerReferences": [machine],
        },
        "spec": {"powerOffSeconds": 7},
    }


@pytest.mark.rule("MHC A.2.5/template")
async def test_request_is_made_also_for_a_machine_without_a_controller(
    requesting: MachineWorld, worker: WorkerActivities
) -> None:
    await requesting.patch_machine(ownerReferences=None)
    assert (await worker.act(requesting.order_request())).request is not None


@pytest.mark.rule("rule 2")
async def test_template_that_is_broken_makes_no_request(
    requesting: MachineWorld, admin_worker: WorkerActivities
) -> None:
    await requesting.make_pod_template()
    template = requesting.order_request().step.template
    broken = template.model_copy(update={"api_version": "v1", "kind": POD_TEMPLATES.kind})
    named = {"apiVersion": "v1", "kind": POD_TEMPLATES.kind, "name": requesting.name}
    await requesting.client.merge_patch(
        CHECKS, requesting.name, {"spec": {"remediationTemplate": named}}, NAMESPACE
    )
    order = requesting.order_request(step=Step(template=broken), generation=3)
    await admin_worker.held(order, HoldReason.TEMPLATE, "didn't find spec.template")
    assert await requesting.request() is None
    assert await requesting.machine_lease() is None


@pytest.mark.rule("rule 39")
async def test_request_that_the_operator_made_for_this_machine_is_taken_over(
    requesting: MachineWorld, worker: WorkerActivities
) -> None:
    existing = await requesting.make_machine_request()
    result = await worker.act(requesting.order_request())
    assert result.request is not None
    assert result.request.uid == existing.uid


@pytest.mark.rule("rule 13")
async def test_request_of_another_checks_incident_is_left_to_it(
    requesting: MachineWorld, worker: WorkerActivities
) -> None:
    theirs = requesting.incident.workflow_id.replace(
        f"/{NAMESPACE}/{requesting.name}/", f"/{NAMESPACE}/another/", 1
    )
    await requesting.make_machine_request(annotations={INCIDENT: theirs})
    await worker.held(requesting.order_request(), HoldReason.TAKEN_BY_REQUEST, "belongs to another owner")


@pytest.mark.rule("rule 13")
async def test_request_of_a_check_of_nodes_is_left_to_it_though_the_machine_owns_it_too(
    requesting: MachineWorld, worker: WorkerActivities
) -> None:
    # The second owner exists, else the garbage collector would remove the reference to it.
    node = {"apiVersion": "v1", "kind": NODES.kind, "name": requesting.name, "uid": requesting.node_uid}
    await requesting.make_machine_request(owners=(node,))
    await worker.held(requesting.order_request(), HoldReason.TAKEN_BY_REQUEST, "belongs to another owner")
