"""A remediation request for a Machine of Cluster API: its content, and the reasons not to create it."""

import pytest

from health.model.observation import HoldReason
from health.model.remediation_request import INCIDENT, TARGET_UID
from kube.client import Client
from kube.resource import Object, Resource
from kube.transport import Transport
from tests.activities.clusterapi.world import ClusterApiWorld
from tests.activities.worker_activities import LABELS, WorkerActivities
from tests.activities.world import DEMO, NAMESPACE, TEMPLATES
from tests.support.api.eventually import eventually
from workflows.contracts import ActInput, RequestExists

pytestmark = pytest.mark.cluster

SET_BY_THE_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


@pytest.fixture
async def requesting(world: ClusterApiWorld) -> ClusterApiWorld:
    await world.use_template()
    return world


@pytest.mark.rule("CAPI B.2.5/request", "CAPI B.1/annotation/cloned-from")
async def test_act_makes_the_request_that_remediators_of_cluster_api_expect(
    requesting: ClusterApiWorld, worker: WorkerActivities
) -> None:
    result = await worker.act(requesting.order_request(attempt=2))

    made = await requesting.request()
    assert isinstance(result.outcome, RequestExists)
    assert result.outcome.request.uid == made["metadata"]["uid"]
    assert await requesting.lease() is not None
    for field in SET_BY_THE_SERVER:
        del made["metadata"][field]
    assert made == {
        "apiVersion": DEMO,
        "kind": "PowerCycleRemediation",
        "metadata": {
            "name": requesting.name,
            "namespace": NAMESPACE,
            "labels": {"cluster.x-k8s.io/cluster-name": requesting.name} | LABELS,
            "annotations": {
                "cluster.x-k8s.io/cloned-from-name": requesting.name,
                "cluster.x-k8s.io/cloned-from-groupkind": "PowerCycleRemediationTemplate.demo.paramedic.dev",
                INCIDENT: requesting.incident.workflow_id,
                TARGET_UID: requesting.machine_uid,
                "paramedic.dev/attempt": "2",
            },
            "ownerReferences": [
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "Machine",
                    "name": requesting.name,
                    "uid": requesting.machine_uid,
                }
            ],
        },
        "spec": {"powerOffSeconds": 7},
    }
    assert not await requesting.is_marked()


@pytest.mark.rule("CAPI B.2.5/no template", "rule 45")
async def test_template_that_is_missing_makes_no_request(
    requesting: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await requesting.client.delete(TEMPLATES, requesting.name, NAMESPACE)
    await _is_held(requesting, worker, requesting.order_request(), "Remediation template not found")


class TemplatesWithoutSpec(Client):
    """Templates of a kind whose schema requires no spec."""

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        found = await super().get(resource, name, namespace)
        if resource == TEMPLATES:
            del found["spec"]
        return found


@pytest.mark.rule("CAPI B.2.5/request")
async def test_request_of_an_empty_template_names_its_target(
    requesting: ClusterApiWorld, management: Transport
) -> None:
    worker = WorkerActivities(management, client=TemplatesWithoutSpec(management))
    async with worker.workload_clusters:
        await worker.act(requesting.order_request())
    made = await requesting.request()
    assert made["spec"] == {"powerOffSeconds": 2}  # its schema sets this default
    assert made["metadata"]["ownerReferences"][0]["uid"] == requesting.machine_uid


@pytest.mark.rule("rule 2")
async def test_check_that_has_no_template_any_more_makes_no_request(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    await worker.held(world.order_request(), HoldReason.NOT_TRUE)
    assert await world.request() is None


async def _is_held(world: ClusterApiWorld, worker: WorkerActivities, order: ActInput, words: str) -> None:
    await worker.held(order, HoldReason.TEMPLATE, words)
    assert await world.request() is None
    assert await world.lease() is None
    # The read of the Node, which timed out, ends while there is a connection.
    await eventually(lambda: world.workload.asked)
