"""The ParamedicStatus on a real API server: who writes it, who reads it, and by which tools."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import Conflict
from kube.lease import new_lease
from kube.resource import EVENTS, LEASES, NAMESPACES, Object
from kube.server_clock import wall_clock
from kube.transport import Transport
from objects.timestamps import micro_time
from runtime.paramedic_status import (
    LEADERLESS_FOR,
    NAME,
    PARAMEDIC_STATUSES,
    ParamedicStatusDocument,
    WorkerObservation,
    by_leader,
    by_others,
)
from runtime.process_names import LEADER_LEASE
from runtime.status_writer import LeaderWatch, StatusWriter
from tests.support.cluster.kubectl import kubectl

pytestmark = pytest.mark.cluster

WELL = by_leader("first", None, WorkerObservation(2), "queue", timedelta())
AWAY = by_leader("first", "Temporal does not answer", WorkerObservation(2), "queue", timedelta())
NOBODY = by_others("ours/lease")
LEASE_DURATION = timedelta(seconds=15)


class Place:
    """A namespace of ours, and what stands in it."""

    def __init__(self, client: Client, namespace: str, now: datetime) -> None:
        self.client = client
        self.namespace = namespace
        self.now = now
        self.seconds = 0.0

    def writer(self, instance: str) -> StatusWriter:
        return StatusWriter(self.client, self.namespace, "paramedic", instance, lambda: self.now)

    def watch(self, writer: StatusWriter) -> LeaderWatch:
        return LeaderWatch(self.client, self.namespace, writer, lambda: self.seconds)

    async def object(self) -> Object:
        return await self.client.get(PARAMEDIC_STATUSES, NAME, self.namespace)

    async def says(self) -> list[str]:
        return [
            condition.status for condition in ParamedicStatusDocument.read(await self.object()).conditions
        ]

    async def told(self) -> list[tuple[str, str]]:
        found = await self.client.list(EVENTS, self.namespace)
        return sorted((condition["type"], condition["reason"]) for condition in found)

    async def renew(self) -> None:
        """The leader renews its Lease, or takes it."""
        self.now += timedelta(seconds=2)
        patch = {"spec": {"renewTime": micro_time(self.now)}}
        await self.client.merge_patch(LEASES, LEADER_LEASE, patch, self.namespace)

    async def take(self) -> None:
        body = new_lease(LEADER_LEASE, self.namespace, "first", LEASE_DURATION, self.now, None)
        await self.client.create(LEASES, body, self.namespace)

    def wait(self, time: timedelta) -> None:
        self.seconds += time.total_seconds()


@pytest.fixture
async def place(control_plane: ControlPlane) -> AsyncIterator[Place]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client, name = ClusterConnection.over(transport).client, f"ours-{uuid4().hex[:8]}"
        body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(NAMESPACES, body)
        yield Place(client, name, wall_clock().replace(microsecond=0))
        await client.delete(NAMESPACES, name)


async def test_kubectl_shows_the_status_and_waits_for_it(place: Place, control_plane: ControlPlane) -> None:
    writer = place.writer("first")
    await writer.report(AWAY, await writer.made())

    of_ours = ("-n", place.namespace)
    _, table = await kubectl(control_plane.kubeconfig, *of_ours, "get", "paramedic", "--no-headers")
    name, detector, temporal, worker, heartbeat = table.split()
    assert (name, detector, temporal, worker) == (NAME, "True", "False", "Unknown")
    assert heartbeat.endswith("s")

    wait = (*of_ours, "wait", f"paramedicstatus/{NAME}", "--timeout=5s")
    status, said = await kubectl(control_plane.kubeconfig, *wait, "--for=condition=TemporalReachable=false")
    assert status == 0, said
    _, page = await kubectl(control_plane.kubeconfig, *of_ours, "describe", "paramedic", NAME)
    assert "Temporal does not answer; nothing new is begun" in page
    assert "Warning  TemporalUnreachable" in page


async def test_unchanged_status_costs_no_write_and_each_transition_one_event(place: Place) -> None:
    first, second = place.writer("first"), place.writer("second")
    for statements in (WELL, AWAY, AWAY):
        place.now += timedelta(seconds=1)
        await first.report(statements, await first.made())
    written = (await place.object())["metadata"]["resourceVersion"]
    await second.report(AWAY, await second.made())

    assert (await place.object())["metadata"]["resourceVersion"] == written
    told = [("Normal", "DetectorLeading"), ("Normal", "TemporalReachable"), ("Normal", "WorkerAvailable")]
    assert await place.told() == [*told, ("Warning", "TemporalUnreachable")]


async def test_writer_with_an_outdated_read_writes_nothing(place: Place) -> None:
    leader, worker = place.writer("first"), place.writer("worker")
    read = await leader.made()
    await leader.report(WELL, read)

    with pytest.raises(Conflict):
        await worker.report(NOBODY, read)
    assert await place.says() == ["True", "True", "True"]


async def test_worker_reports_that_no_detector_leads_and_the_next_leader_that_it_leads(place: Place) -> None:
    leader, worker = place.writer("first"), place.writer("worker")
    watch = place.watch(worker)
    await place.take()
    await watch.look()
    await leader.report(WELL, await leader.made())

    place.wait(LEADERLESS_FOR)
    await place.renew()
    await watch.look()
    assert await place.says() == ["True", "True", "True"]

    place.wait(LEADERLESS_FOR)
    await watch.look()
    assert await place.says() == ["False", *["Unknown"] * 5]
    assert ("Warning", "NoLeader") in await place.told()

    await place.renew()
    await leader.report(WELL, await leader.made())
    await watch.look()
    assert await place.says() == ["True", "True", "True"]


async def test_where_no_detector_has_ever_led_a_worker_says_nothing(place: Place) -> None:
    watch = place.watch(place.writer("worker"))
    await watch.look()
    place.wait(2 * LEADERLESS_FOR)
    await watch.look()
    assert await place.client.list(PARAMEDIC_STATUSES, place.namespace) == []
