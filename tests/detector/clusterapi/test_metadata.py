"""The label and the owner of a check are written once, and the metadata of other writers is kept."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web

from detector.answers.storms import Storms
from detector.attempts.attempts import Attempts
from detector.context.sources_of_checks import SourcesOfChecks
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.reporting.status_reporter import StatusReporter
from detector.state.check_state import CheckRecord
from health.kinds.clusterapi.group import V1BETA2
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.model.references import CheckReference
from health.policy.policy import Policy
from kube.client import Client
from kube.resource import EVENTS, Object, resource_of
from kube.transport import Transport
from tests.detector.status_reporting import event_reporter, leading
from tests.support.api.api_server import ApiServer, refused, said
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster_api import SmallClusterApi, named
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import NAMESPACE, PAUSED, check_object, cluster, merged

CHECKS = resource_of(CLUSTER_API_MACHINE_HEALTH_CHECK)
CLUSTER = {"apiVersion": V1BETA2, "kind": "Cluster", "name": "edge", "uid": "cluster-uid"}
TOPOLOGY = {
    "apiVersion": "apps.example.com/v1",
    "kind": "Blueprint",
    "name": "blue",
    "uid": "theirs",
    "controller": True,
    "blockOwnerDeletion": True,
}


class EverythingIsRead:
    async def wait_read(self, _: CheckReference) -> None: ...

    async def wait_kinds(self, _: CheckReference) -> None: ...


class Reported:
    """One check on a scripted API server, and its reporter."""

    def __init__(self, server: ApiServer, transport: Transport) -> None:
        self.small = SmallClusterApi()
        self.patches: list[Object] = []
        self.status_patches = 0
        self.theirs: list[dict[str, Any]] = []
        """What others write between a read and the write that follows, one after the other."""
        self.found = check_object(checks={"unhealthyMachineConditions": []})
        self.found["metadata"]["resourceVersion"] = "1"
        attempts = Attempts(Policy, self.small.cluster_state, lambda: NOW)
        client = Client(transport)
        self._reporter = StatusReporter(
            client=client,
            cluster_state=self.small.cluster_state,
            sources=cast("SourcesOfChecks", EverythingIsRead()),
            storms=Storms(self.small.cluster_state, lambda _: True, lambda: NOW),
            snapshot_builder=SnapshotBuilder(self.small.cluster_state, attempts.before),
            events=event_reporter(client, self.small.cluster_state),
            now=lambda: NOW,
            led_until=lambda: None,
        )
        server.answer("GET", CHECKS.path(NAMESPACE, "workers"), self._read)
        server.answer("PATCH", CHECKS.path(NAMESPACE, "workers"), self._write)
        server.answer("PATCH", CHECKS.path(NAMESPACE, "workers", "status"), self._write_status)
        server.answer("POST", EVENTS.path(NAMESPACE), said({}))

    def put(self, **metadata: Any) -> None:
        """Store the metadata as another writer; the detector sees it at once."""
        version = str(int(self.found["metadata"]["resourceVersion"]) + 1)
        self.found = merged(self.found, {"metadata": {**metadata, "resourceVersion": version}})
        self._watched()

    def _watched(self) -> None:
        record = CheckRecord.model_validate(self.found)
        self.small.cluster_state.check_changed(CLUSTER_API_MACHINE_HEALTH_CHECK, named(), record)
        self._reporter.changed(named(), None)

    async def _read(self, request: web.Request) -> web.StreamResponse:
        answer = said(self.found)
        if self.theirs:
            self.put(**self.theirs.pop(0))
        return await answer(request)

    async def _write(self, request: web.Request) -> web.StreamResponse:
        body = (await request.json())["metadata"]
        if body["resourceVersion"] != self.found["metadata"]["resourceVersion"]:
            return await refused(409, "Conflict")(request)
        self.patches.append({key: body[key] for key in ("labels", "ownerReferences") if key in body})
        self.put(**self.patches[-1])
        return await said(self.found)(request)

    async def _write_status(self, request: web.Request) -> web.StreamResponse:
        self.status_patches += 1
        self.found = merged(self.found, {"status": (await request.json())["status"]})
        self.put()
        return await said(self.found)(request)

    async def run(self) -> AsyncIterator["Reported"]:
        self._watched()
        async with leading(self._reporter):
            yield self

    async def reported_again(self) -> None:
        """Wait until the reporter has seen the current check and has written all its changes."""
        self.small.cluster(cluster(ready="False"))
        before = self.status_patches
        self.found = merged(self.found, {"status": {"expectedMachines": 7}})
        self.put()
        await eventually(lambda: self.status_patches > before)
        self.put()
        await self.is_quiet()

    async def is_quiet(self) -> None:
        """Wait until the reporter has processed all changes."""
        await eventually(lambda: not self._reporter.queue.waits(named()))


@pytest.fixture
async def reported(tmp_path: Path) -> AsyncIterator[Reported]:
    """The reporter runs from the first request on."""
    async with ApiServer(tmp_path) as server, await Transport.connect(str(server.kubeconfig)) as transport:
        yield Reported(server, transport)


@pytest.mark.rule("CAPI B.1/label", "CAPI B.1/owner")
async def test_label_and_owner_are_written_once(reported: Reported) -> None:
    async for _ in reported.run():
        await eventually(lambda: reported.patches)
        await reported.reported_again()
    labels = {"cluster.x-k8s.io/cluster-name": "edge"}
    assert reported.patches == [{"labels": labels, "ownerReferences": [CLUSTER]}]


@pytest.mark.rule("CAPI B.1/owner")
async def test_owners_of_others_stay_with_all_that_they_say_also_where_they_come_in_between(
    reported: Reported,
) -> None:
    another = TOPOLOGY | {"name": "red", "uid": "theirs, too", "controller": False}
    reported.put(ownerReferences=[TOPOLOGY], labels={"theirs": "kept"})
    reported.theirs.append({"ownerReferences": [TOPOLOGY, another]})
    async for _ in reported.run():
        await eventually(lambda: reported.patches)
    assert reported.found["metadata"]["ownerReferences"] == [TOPOLOGY, another, CLUSTER]
    labels = reported.found["metadata"]["labels"]
    assert labels == {"theirs": "kept", "cluster.x-k8s.io/cluster-name": "edge"}


@pytest.mark.rule("CAPI B.2.7/nothing")
async def test_metadata_of_a_check_that_is_paused_stays_as_it_is(reported: Reported) -> None:
    reported.put(annotations=PAUSED)
    async for _ in reported.run():
        await eventually(lambda: reported.status_patches)
        await reported.is_quiet()
    assert reported.patches == []
