"""The writes of a clean-up, recorded by a server with arbitrary answers."""

from pathlib import Path

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.references import CheckReference, IncidentReference, RequestReference, TargetReference
from health.model.remediation_request import INCIDENT as INCIDENT_ANNOTATION
from kube.transport import Transport
from tests.activities.worker_activities import WorkerActivities
from tests.support.api.api_server import ApiServer, refused, said
from workflows.contracts import CleanUpInput

INCIDENT = IncidentReference(
    cluster="test",
    check=CheckReference(kind="NodeHealthCheck", name="workers"),
    target=TargetReference(kind="Node", name="node-1", uid="node-uid"),
)
REQUEST = RequestReference(
    api_version="example.com/v1", kind="Reset", namespace="default", name="node-1", uid="request-uid"
)
GROUP = "/apis/example.com/v1"
PATH = f"{GROUP}/namespaces/default/resets/node-1"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases/node-node-1"
CHECK = {
    "apiVersion": NODE_HEALTH_CHECKS.api_version,
    "kind": NODE_HEALTH_CHECKS.kind,
    "name": "workers",
    "uid": "check-uid",
}
UNREADABLE = {
    "metadata": {
        "name": "node-1",
        "namespace": "default",
        "uid": "request-uid",
        "resourceVersion": "7",
        "creationTimestamp": "2026-03-01T12:00:00Z",
        "ownerReferences": [CHECK],
        "annotations": {INCIDENT_ANNOTATION: INCIDENT.workflow_id},
    },
    "status": {"conditions": "none"},
}


@pytest.mark.rule("rule 2/preconditions")
async def test_request_of_ours_that_does_not_parse_is_deleted_as_it_was_read(tmp_path: Path) -> None:
    asked = CleanUpInput(incident=INCIDENT, requests=(REQUEST,), doubtful=(REQUEST.uid,))
    async with ApiServer(tmp_path) as server:
        resets = [{"name": "resets", "kind": "Reset", "namespaced": True}]
        server.answer("GET", GROUP, said({"resources": resets}))
        server.answer("GET", PATH, said(UNREADABLE))
        server.answer("DELETE", PATH, said({}))
        server.answer("GET", LEASE, refused(404, "NotFound", "node-node-1"))
        async with await Transport.connect(str(server.kubeconfig)) as transport:
            result = await WorkerActivities(transport).clean_up(asked)
        (deletion,) = [call.body for call in server.asked if call.method == "DELETE"]

    assert result.remaining == ()
    assert deletion["preconditions"] == {"uid": "request-uid", "resourceVersion": "7"}


NODE = "/api/v1/nodes/node-1"
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


@pytest.mark.rule("NHC 1.7/manually-confirmed-healthy", "NHC 2.6/confirmed")
@pytest.mark.parametrize("removes_confirmations", [True, False])
async def test_confirmation_of_a_person_goes_before_the_lease_unless_the_worker_keeps_confirmations(
    tmp_path: Path, *, removes_confirmations: bool
) -> None:
    async with ApiServer(tmp_path) as server:
        server.answer("PATCH", NODE, said({}))
        server.answer("GET", LEASE, said(OURS))
        server.answer("DELETE", LEASE, said({}))
        async with await Transport.connect(str(server.kubeconfig)) as transport:
            worker = WorkerActivities(transport, removes_confirmations=removes_confirmations)
            await worker.clean_up(CleanUpInput(incident=INCIDENT, requests=(), is_confirmed=True))
        writes = [(asked.method, asked.path) for asked in server.asked if asked.method != "GET"]
    assert writes == [("PATCH", NODE)] * removes_confirmations + [("DELETE", LEASE)]
