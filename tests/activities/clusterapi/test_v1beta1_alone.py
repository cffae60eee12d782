"""A cluster that serves only v1beta1 is acted on in v1beta1, also if versions change under a worker."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from devcluster import cluster_api_crds
from devcluster.cluster_api_crds import NewestVersion
from devcluster.control_plane import ControlPlane
from health.kinds.clusterapi.group import V1BETA1
from kube.client import Client
from kube.transport import Transport
from tests.activities.clusterapi.world import FOREIGN, ClusterApiWorld, ready
from tests.activities.worker_activities import WorkerActivities
from tests.support.api.api_server import ApiServer
from tests.support.api.kubeconfigs import Pair
from workflows.contracts import TargetDisrupted

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 32")]


@pytest.fixture
async def served_again(management_cluster: ControlPlane) -> AsyncIterator[None]:
    """Both versions are served again after the test: each switch takes as long as ten acts."""
    yield
    await cluster_api_crds.apply(management_cluster.kubeconfig)


@pytest.fixture
async def old_world(
    management: Transport, workload: tuple[ApiServer, Pair]
) -> AsyncIterator[ClusterApiWorld]:
    made = ClusterApiWorld(Client(management), f"test-{uuid4().hex[:8]}", workload, V1BETA1)
    await made.make()
    yield made
    await made.remove()


@pytest.mark.rule(
    "CAPI B.2.6/fields", "CAPI B.1/condition/form", "CAPI B.1/version under way", "CAPI B.2.5/request"
)
@pytest.mark.usefixtures("served_again")
async def test_mark_and_request_are_in_v1beta1_once_that_alone_is_served(
    old_world: ClusterApiWorld, worker: WorkerActivities, management_cluster: ControlPlane
) -> None:
    theirs = [
        {key: condition[key] for key in ("type", "status", "lastTransitionTime")} for condition in FOREIGN
    ]
    # The worker remembers that v1beta2 is served.
    other = ready("OwnerRemediated") | {"status": "False", "reason": "MachineDeleting"}
    await old_world.patch_status(conditions=[other | {"severity": "Info"}])
    await worker.act(old_world.order())
    await cluster_api_crds.apply(management_cluster.kubeconfig, NewestVersion.V1BETA1)
    await old_world.patch_status(conditions=theirs)

    result = None
    for _ in range(3):  # an attempt that changes nothing corrects its memory
        result = await worker.act(old_world.order())
        if result.hold is None:
            break
    assert result is not None
    assert isinstance(result.outcome, TargetDisrupted)
    found = (await old_world.machine())["status"]["conditions"]
    assert [condition for condition in found if condition in theirs] == theirs
    now = await old_world.conditions()
    for type_ in ("OwnerRemediated", "HealthCheckSucceeded"):
        assert (now[type_]["status"], now[type_]["severity"]) == ("False", "Warning")
    assert now["OwnerRemediated"]["reason"] == "WaitingForRemediation"
    twins = await old_world.conditions("v1beta2")
    assert twins["OwnerRemediated"]["message"] == "Waiting for remediation"

    await old_world.use_template()
    await worker.act(old_world.order_request())
    made = await old_world.request()
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["uid"]) == (V1BETA1, old_world.machine_uid)
