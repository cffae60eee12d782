"""The worker asks the API server for the Machine of a Node, which owns the Node's request."""

from pathlib import Path

import pytest

from activities.attempt import Clock, FactAge
from activities.kind_activities import ConfirmedStep
from activities.live_objects import LiveObjects
from activities.nodehealthcheck.kind import NodeActivities
from activities.registry import KIND_ACTIVITIES
from activities.revalidation import Confirmed
from health.model.references import Step
from kube.connection import ClusterConnection, ClusterConnections, WorkloadConnections
from kube.errors import KindUnknown
from kube.transport import Transport
from objects.metadata import OwnerReference
from tests.support.api.api_server import NOT_SERVED, Answer, ApiServer, refused, said
from tests.support.values.builders import EMPTY_CONTEXT, INCIDENT, NOW, check, fact, node, template
from workflows.contracts import ActInput

MACHINE = said({"metadata": {"name": "machine-1", "uid": "machine-uid"}})
MACHINES = said({"resources": [{"name": "machines", "kind": "Machine", "namespaced": True}]})
GROUP, NAMESPACE = "/apis/machine.openshift.io/v1beta1", "machines"
PATH = f"{GROUP}/namespaces/{NAMESPACE}/machines/machine-1"
NODE = node(annotations={"machine.openshift.io/machine": f"{NAMESPACE}/machine-1"})
CHECK = OwnerReference(
    api_version="remediation.medik8s.io/v1alpha1", kind="NodeHealthCheck", name="workers", uid="check-uid"
)
TEMPLATE = {"metadata": {"name": "reboot"}, "spec": {"template": {"spec": {}}}}


async def owners(directory: Path, group: Answer, machine: Answer, *, namespace: str = NAMESPACE) -> list[str]:
    """The uids of the owners of a request that is created in a namespace."""
    step = Step(template=template(namespace=namespace))
    asked = ActInput(incident=INCIDENT, run_id="run-1", step=step, fact=fact(), generation=3)
    confirmed = Confirmed(target=NODE, check=check(), owner=CHECK, context=EMPTY_CONTEXT, policy=None)
    async with ApiServer(directory) as server, await Transport.connect(str(server.kubeconfig)) as transport:
        server.answer("GET", GROUP, group)
        server.answer("GET", PATH, machine)
        connection = ClusterConnection.over(transport)
        clusters = ClusterConnections(connection, WorkloadConnections(connection.client))
        live = LiveObjects(clusters, KIND_ACTIVITIES)
        age = FactAge.from_now(Clock(now=lambda: NOW, monotonic=lambda: 0.0), NOW)
        request = await NodeActivities().new_request(ConfirmedStep(asked, confirmed, live, age), TEMPLATE)
        return [reference["uid"] for reference in request["metadata"]["ownerReferences"]]


@pytest.mark.rule("NHC 1.7/machine", "NHC 2.4/3/owners")
@pytest.mark.parametrize(
    ("group", "machine", "of_machines"),
    [
        pytest.param(MACHINES, MACHINE, ["machine-uid"], id="there"),
        pytest.param(MACHINES, refused(404, "NotFound", "machine-1"), [], id="not there"),
        pytest.param(NOT_SERVED, NOT_SERVED, [], id="no Machines are served"),
    ],
)
async def test_machine_that_is_there_owns_the_request_of_its_node_beside_the_check(
    tmp_path: Path, group: Answer, machine: Answer, of_machines: list[str]
) -> None:
    assert await owners(tmp_path, group, machine) == ["check-uid", *of_machines]


@pytest.mark.rule("NHC 1.7/machine", "NHC 2.4/3/owners")
async def test_machine_of_another_namespace_owns_no_request(tmp_path: Path) -> None:
    assert await owners(tmp_path, MACHINES, MACHINE, namespace="remediators") == ["check-uid"]


async def test_answer_that_names_no_machine_does_not_say_that_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(KindUnknown):
        await owners(tmp_path, MACHINES, NOT_SERVED)
