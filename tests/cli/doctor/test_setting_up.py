"""Findings about a cluster that is set up step by step, until none is left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from devcluster import assets, manifests
from devcluster import control_plane as control_planes
from devcluster.temporal import TemporalServer
from health.policy.policy import KEY, POLICY
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.leader import LeaderElection, Leadership
from kube.resource import CONFIG_MAPS
from kube.transport import Transport
from tests.cli.doctor.conftest import CLUSTER, AsUser
from tests.cli.doctor.findings import findings, reasons
from tests.support.api.eventually import eventually
from tests.support.api.ports import own_layout
from tests.support.cluster.temporal_servers import client_of
from tests.support.story.fleet import Fleet

pytestmark = pytest.mark.cluster

NOTES = {"OutageGuardOff"}
WITH_GUARD = {"metadata": {"name": POLICY}, "data": {KEY: "outageGuard: {}"}}


async def test_cluster_that_is_set_up_step_by_step_ends_with_nothing_wrong(
    as_user: AsUser, temporal_server: TemporalServer, tmp_path: Path
) -> None:
    async with control_planes.control_plane(own_layout(tmp_path), assets.find()) as plane:
        doctor = as_user(plane.kubeconfig)
        found = await findings(doctor)
        not_there = {"KindNotServed", "StatusNotServed", "LeaseNamespaceMissing", "RightMissing"}
        assert reasons(found) == {*not_there, "NoDetector", "NoWorker", *NOTES}
        assert sum(finding.reason == "KindNotServed" for finding in found) == 2

        await manifests.install(plane.kubeconfig)
        assert reasons(await findings(doctor)) == {"NoDetector", "NoWorker", *NOTES}

        async with at_work(plane.kubeconfig, temporal_server) as identity:
            both = await asyncio.gather(*(doctor("doctor", "--cluster", one) for one in (CLUSTER, identity)))
    for ran in both:
        assert (ran.code, ran.out) == (0, "")
        assert ran.err == f"cluster {identity}: nothing is wrong\n"


@asynccontextmanager
async def at_work(kubeconfig: Path, server: TemporalServer) -> AsyncIterator[str]:
    """With a leader, a worker, and a policy with the outage guard; yields the identity of the cluster."""
    temporal = await client_of(server)
    async with await Transport.connect(str(kubeconfig)) as transport:
        client = Client(transport)
        fleet = Fleet(temporal, await read_cluster_identity(client, CLUSTER))
        leadership = Leadership()
        election = LeaderElection(client, "paramedic-system", "paramedic-detector", "pod-1", leadership)
        leading = asyncio.create_task(election.run())
        await client.create(CONFIG_MAPS, WITH_GUARD, "paramedic-system")
        async with fleet.at_work():
            await eventually(leadership.is_leader)
            yield fleet.cluster
        leading.cancel()
        with suppress(asyncio.CancelledError):
            await leading
