"""The order of clean_up's writes, recorded by a server: the confirmation is removed before the Lease."""

from pathlib import Path

import pytest

from health.model.references import CheckReference, IncidentReference, TargetReference
from kube.transport import Transport
from tests.activities.worker_activities import WorkerActivities
from tests.support.api.api_server import Answer, ApiServer, said
from workflows.contracts import CleanUpInput

INCIDENT = IncidentReference(
    cluster="test",
    check=CheckReference(kind="NodeHealthCheck", name="workers"),
    target=TargetReference(kind="Node", name="node-1", uid="node-uid"),
)
ORDER = CleanUpInput(incident=INCIDENT, requests=(), is_confirmed=True)
NODE = "/api/v1/nodes/node-1"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases/node-node-1"
OURS = {
    "metadata": {
        "name": "node-node-1",
        "namespace": "medik8s-leases",
        "uid": "lease-uid",
        "resourceVersion": "7",
        "creationTimestamp": "2026-03-01T12:00:00Z",
    },
    "spec": {"holderIdentity": "NodeHealthCheck-workers"},
}


async def clean_up(
    directory: Path, confirmation: Answer, *, removes_confirmations: bool = True
) -> list[tuple[str, str]]:
    async with ApiServer(directory) as server:
        server.answer("PATCH", NODE, confirmation)
        server.answer("GET", LEASE, said(OURS))
        server.answer("DELETE", LEASE, said({}))
        async with await Transport.connect(str(server.kubeconfig)) as transport:
            worker = WorkerActivities(transport, removes_confirmations=removes_confirmations)
            await worker.clean_up(ORDER)
        return [(asked.method, asked.path) for asked in server.asked if asked.method != "GET"]


@pytest.mark.rule("NHC 1.7/manually-confirmed-healthy", "NHC 2.6/confirmed")
async def test_persons_confirmation_goes_before_the_lease(tmp_path: Path) -> None:
    assert await clean_up(tmp_path, said({})) == [("PATCH", NODE), ("DELETE", LEASE)]


async def test_worker_that_keeps_confirmations_writes_to_no_node(tmp_path: Path) -> None:
    assert await clean_up(tmp_path, said({}), removes_confirmations=False) == [("DELETE", LEASE)]
