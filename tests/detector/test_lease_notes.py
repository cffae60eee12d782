"""Notes on the leader Lease of a real API server: after a deletion of it, and by an earlier leader."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import uuid4

import pytest

from detector.context import cluster_notes
from detector.context.cluster_notes import (
    KNOWN_CLUSTERS,
    ClusterIdentities,
    Confirmations,
    LeaseNotes,
    NoteLease,
)
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from health.cluster.cluster_identity import ANNOTATION, NOT_KNOWN, KnownCluster, node_digest, read_note
from kube.client import Client
from kube.resource import LEASES, Object
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 50")]

FIRST = KnownCluster(owner="cluster-uid", uid="first")

Notes = LeaseNotes[KnownCluster]


class LeaderLease:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.name = f"leader-{uuid4().hex}"

    async def create(self, **known: KnownCluster) -> None:
        notes = KNOWN_CLUSTERS.notes.dump_json(known).decode()
        metadata = {"name": self.name, "annotations": {ANNOTATION: notes} if known else {}}
        body: Object = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
        await self.client.create(LEASES, body, "default")

    async def delete(self) -> None:
        await self.client.delete(LEASES, self.name, "default")

    async def noted(self) -> dict[str, KnownCluster] | None:
        lease = await self.client.get(LEASES, self.name, "default")
        return read_note(lease["metadata"].get("annotations") or {})

    async def has(self, **known: KnownCluster) -> None:
        """Wait until exactly these notes are stored."""

        async def are_noted() -> bool:
            return await self.noted() == known

        await until(are_noted, within=timedelta(seconds=30), otherwise="the Lease has other notes")

    async def notes(self) -> Notes:
        """The notes of a process that has just started."""
        notes = LeaseNotes(KNOWN_CLUSTERS, NoteLease(self.client, "default", self.name, Problems()))
        await notes.read()
        return notes


@asynccontextmanager
async def leading(
    notes: Notes, known: Callable[[], Mapping[str, KnownCluster]], taken_over: Callable[[], None]
) -> AsyncIterator[None]:
    task = asyncio.create_task(notes.lead(known, taken_over))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def lease(control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LeaderLease]:
    monkeypatch.setattr(cluster_notes, "LOOK_SECONDS", 0.05)
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield LeaderLease(Client(transport, "tests"))


async def test_notes_are_written_again_onto_a_lease_that_was_deleted_and_created_anew(
    lease: LeaderLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_notes, "WRITE_AGAIN_SECONDS", 0.2)
    await lease.create()
    async with leading(await lease.notes(), lambda: {"east": FIRST}, lambda: None):
        await lease.has(east=FIRST)
        await lease.delete()
        await lease.create()

        await lease.has(east=FIRST)


async def test_new_leader_holds_a_cluster_that_the_leader_before_knew_as_another_one(
    lease: LeaderLease,
) -> None:
    await lease.create()
    standby = await lease.notes()
    identities = ClusterIdentities(standby.of)
    seen, confirmations = {"east": "another"}, {"east": Confirmations("cluster-uid")}
    assert not identities.see(seen, confirmations), "there were no notes at the start"
    await lease.delete()
    await lease.create(east=FIRST)

    async with leading(standby, lambda: identities.notes({}), identities.take_noted):
        await eventually(lambda: identities.see(seen, confirmations))
        await lease.has(east=FIRST)


async def test_new_leader_keeps_what_it_saw_where_nothing_is_noted(lease: LeaderLease) -> None:
    await lease.create()
    standby = await lease.notes()
    identities = ClusterIdentities(standby.of)
    confirmations = {"east": Confirmations("cluster-uid")}
    identities.see({"east": "first"}, confirmations)

    async with leading(standby, lambda: identities.notes({}), identities.take_noted):
        await lease.has(east=FIRST)

    assert identities.see({"east": "another"}, confirmations).keys() == {"east"}


def test_lost_nodes_stay_as_noted_until_their_cluster_is_judged() -> None:
    lost = {"east": ("n1", "n2", "n3"), "": ("n4", "n5")}
    digests = {cluster: tuple(sorted(map(node_digest, names))) for cluster, names in lost.items()}
    noted = {
        "east": FIRST.model_copy(update={"believed": digests["east"]}),
        "": KnownCluster(believed=digests[""]),
    }
    identities = ClusterIdentities(lambda cluster: noted.get(cluster, NOT_KNOWN))
    identities.see({"east": "first"}, {"east": Confirmations("cluster-uid")})

    assert identities.notes({}) == {"east": noted["east"]}
    assert identities.notes({"east": (), "": ()}) == {"east": FIRST, "": NOT_KNOWN}
    assert identities.notes({**lost, "west": ()}) == {"east": noted["east"]}
    assert identities.notes({"": ("n4", "n6")})[""] == KnownCluster(
        believed=tuple(sorted(map(node_digest, ("n4", "n6"))))
    )
