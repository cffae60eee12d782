"""A check that names a kind of Kubernetes, or of targets or checks, as its template holds no other check."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from detector.feeds.remediation_kinds import RemediationKinds
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import REQUESTS
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.references import CheckReference
from kube.client import Client
from kube.connection import ClusterConnection
from kube.resource import NODES
from kube.transport import Transport
from tests.support.values.builders import check_object

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 8", "NHC 2.1/7")]

CHECK = CheckReference(kind=NODE_HEALTH_CHECK.kind, name="workers")
NO_REQUESTS = [
    pytest.param("v1", "Node", "Node is a kind of Kubernetes itself", id="targets"),
    pytest.param("apps/v1", "Deployment", "Deployment.apps is a kind of Kubernetes itself", id="built in"),
    pytest.param(
        REQUESTS.api_version,
        REQUESTS.kind,
        "the name of the kind PowerCycleRemediation does not end in Template",
        id="no kind of templates",
    ),
]
OF_NODES = {"apiVersion": "v1", "kind": "Node", "name": "node-1"}


class Detector:
    """The watches of a detector with one check."""

    def __init__(self, transport: Transport, template: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        check = check_object(remediationTemplate=template) | {"status": status}
        self.cluster_state = ClusterState("test")
        self.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(check))
        self.kinds = RemediationKinds(ClusterConnection.over(transport), self.cluster_state)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self._watch())
            await asyncio.sleep(0)
            await self.kinds.wait_tried()
            yield
            running.cancel()

    async def _watch(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self.kinds.check_changed(CHECK, tasks)


@pytest.fixture
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        await Client(connected).create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "r"}})
        yield connected
        await Client(connected).delete(NODES, "r")


@pytest.mark.parametrize(("api_version", "kind", "why"), NO_REQUESTS)
async def test_objects_of_such_a_kind_are_no_requests_and_its_check_has_a_problem(
    transport: Transport, api_version: str, kind: str, why: str
) -> None:
    template = {"apiVersion": api_version, "kind": kind, "name": "n", "namespace": "default"}
    detector = Detector(transport, template, status={})
    async with detector.watching():
        assert list(detector.cluster_state.requests.all()) == []
        assert detector.kinds.requests.get((api_version, kind)) is None
        assert detector.kinds.unread_requests(CHECK, timedelta(minutes=1)) is None
        known = detector.kinds.template_kind(api_version, kind)

    assert known is not None
    assert known.request_rejection == why


async def test_objects_that_a_status_lists_as_requests_are_none_if_they_are_nodes(
    transport: Transport,
) -> None:
    status = {"unhealthyNodes": [{"name": "r", "remediations": [{"resource": OF_NODES}]}]}
    detector = Detector(transport, check_object()["spec"]["remediationTemplate"], status)
    async with detector.watching():
        assert list(detector.cluster_state.requests.all()) == []
        assert detector.kinds.requests.get(("v1", "Node")) is None
