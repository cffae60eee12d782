"""Whether a Node has a Machine that owns its request is asked of the API server, and not guessed."""

from pathlib import Path

import pytest

from activities.live_objects import LiveObjects
from activities.nodehealthcheck.kind import machine_owner
from activities.registry import readers
from kube.cluster_connections import ClusterConnections
from kube.connection import ClusterConnection
from kube.errors import KindUnknown
from kube.transport import Transport
from kube.workload_connections import WorkloadConnections
from tests.kube.api_server import NOT_SERVED, Answer, ApiServer, refused, said
from tests.objects import node, template

MACHINE = said({"metadata": {"name": "machine-1", "uid": "machine-uid"}})
MACHINES = said({"resources": [{"name": "machines", "kind": "Machine", "namespaced": True}]})
GROUP, NAMESPACE = "/apis/machine.openshift.io/v1beta1", "machines"
PATH = f"{GROUP}/namespaces/{NAMESPACE}/machines/machine-1"
NODE = node(annotations={"machine.openshift.io/machine": f"{NAMESPACE}/machine-1"})


async def owner(directory: Path, group: Answer, machine: Answer) -> str:
    """The uid of the owner; "" if there is none."""
    async with ApiServer(directory) as server, await Transport.connect(str(server.kubeconfig)) as transport:
        server.answer("GET", GROUP, group)
        server.answer("GET", PATH, machine)
        connection = ClusterConnection.over(transport)
        clusters = ClusterConnections(connection, WorkloadConnections(connection.client))
        live = LiveObjects(clusters, readers())
        found = await machine_owner(live, NODE, template().model_copy(update={"namespace": NAMESPACE}))
        return found.uid if found else ""


@pytest.mark.parametrize(
    ("group", "machine", "expected"),
    [
        pytest.param(MACHINES, MACHINE, "machine-uid", id="there"),
        pytest.param(MACHINES, refused(404, "NotFound", "machine-1"), "", id="not there"),
        pytest.param(NOT_SERVED, NOT_SERVED, "", id="no Machines are served"),
    ],
)
async def test_machine_that_is_there_owns_the_request_of_its_node(
    tmp_path: Path, group: Answer, machine: Answer, expected: str
) -> None:
    assert await owner(tmp_path, group, machine) == expected


async def test_answer_that_names_no_machine_does_not_say_that_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(KindUnknown):
        await owner(tmp_path, MACHINES, NOT_SERVED)
