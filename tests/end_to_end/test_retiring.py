"""`paramedic retire`: running incidents are handed over unchanged, resumed, and then cleaned up."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.resource import Object
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, Installation, ParamedicStatusDocument
from runtime.process_names import LEADER_LEASE, NAMESPACE
from tests.support.cluster.command import Command
from tests.support.cluster.forked import Ran
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import REQUESTS, World

pytestmark = pytest.mark.cluster


@pytest.fixture
async def command(
    control_plane: ControlPlane, temporal_server: TemporalServer, cluster_name: str
) -> AsyncIterator[Command]:
    """The command with all rights; a stop of a retirement is removed afterwards for the next tests."""
    command = Command(
        {
            "KUBECONFIG": str(control_plane.kubeconfig),
            **temporal_server.environment,
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "PARAMEDIC_CLUSTER": cluster_name,
        }
    )
    yield command
    await command("start")


async def everything_of(world: World, *nodes: str) -> list[Object]:
    """The request and the Lease of each node, without their managed fields."""
    found = [await world.request(node) for node in nodes] + [await world.lease(node) for node in nodes]
    for event in found:
        assert event is not None
        del event["metadata"]["managedFields"]
    return [event for event in found if event is not None]


async def install(client: Client, cluster_name: str) -> None:
    """Name the installed cluster: another test on this control plane may have left another name."""
    for left in await client.list(PARAMEDIC_STATUSES, NAMESPACE):
        await client.delete(PARAMEDIC_STATUSES, left["metadata"]["name"], NAMESPACE)
    installation = Installation(cluster=await read_cluster_identity(client, cluster_name))
    body = {"apiVersion": PARAMEDIC_STATUSES.api_version, "kind": PARAMEDIC_STATUSES.kind}
    made = await client.create(PARAMEDIC_STATUSES, body | {"metadata": {"name": NAME}}, NAMESPACE)
    patch = ParamedicStatusDocument(installation=installation).as_patch(made["metadata"]["resourceVersion"])
    await client.merge_patch(PARAMEDIC_STATUSES, NAME, patch, NAMESPACE, "status")


async def until_going(world: World, node: str) -> None:
    async def is_going() -> bool:
        return "deletionTimestamp" in (await world.request(node))["metadata"]

    await world.until(is_going, f"the request of {node} was not deleted")


def calls_of(audit_log: Path, nodes: list[str], verb: str) -> list[tuple[str, str]]:
    """Request and user of each successful call with this verb to the requests of these nodes."""
    events = [json.loads(line) for line in audit_log.read_text().splitlines() if f'"{verb}"' in line]
    return sorted(
        (event["objectRef"]["name"], event["user"]["username"].rpartition(":")[2])
        for event in events
        if event["verb"] == verb
        and event["objectRef"].get("resource") == REQUESTS.plural
        and event["objectRef"].get("name") in nodes
        and event["responseStatus"]["code"] < 300
    )


@pytest.mark.rule("rule 39/back", "rule 40", "rule 42")
async def test_incidents_are_handed_over_untouched_taken_up_again_and_cleaned_up_though_the_worker_dies(
    world: World, paramedic: Paramedic, command: Command, control_plane: ControlPlane, cluster_name: str
) -> None:
    nodes = await world.add_nodes(3)
    hanging = nodes[0]
    await world.add_check()
    await paramedic.start()
    await world.fail(*nodes)
    await world.until_requested(*nodes)
    for node in nodes:
        await world.until_phase(node, "Remediating")
    before = await everything_of(world, *nodes)
    await install(world.client, cluster_name)

    plan = await command("retire", "--dry-run")
    assert plan.code == 0, plan.err
    assert "wait for the detector detector-of-the-tests to end" in plan.out
    assert plan.out.count("abort it, and end it") == plan.out.count(f"delete {REQUESTS.kind}/default/") == 3
    refused = await command("retire", "--timeout", "3s")
    assert (refused.code, "the detector detector-of-the-tests runs" in refused.err) == (1, True)
    assert await everything_of(world, *nodes) == before

    await paramedic.detector.stop()
    handed_over = await command("retire", "--hand-over")
    assert handed_over.code == 0, handed_over.err
    assert handed_over.out.count("its operator goes on with it") == 3
    assert await everything_of(world, *nodes) == before
    await world.until_nothing_runs()

    # Paramedic returns: the stop holds new requests, and existing ones are resumed.
    await paramedic.start()
    for node in nodes:
        await world.until_phase(node, "Remediating")
    await world.set_finalizers(hanging, ["test.example.com/power"])

    retiring = asyncio.ensure_future(command("retire", "--timeout", "2m"))
    await paramedic.detector.stop()
    await until_going(world, hanging)
    await paramedic.worker.kill()
    assert not retiring.done()
    await paramedic.worker.start_ready()
    await world.set_finalizers(hanging, None)
    _assert_retired(await retiring, world)

    await world.until_clean(*nodes)
    await world.until_nothing_runs()
    audit_log = control_plane.audit_log
    assert [name for name, _ in calls_of(audit_log, nodes, "create")] == sorted(nodes)
    assert {name for name, _ in calls_of(audit_log, nodes, "delete")} == set(nodes)
    assert [world.requests.created(node) for node in nodes] == [1, 1, 1]
    again = await command("retire")
    assert again.code == 0, again.err
    assert "deleted" not in again.out
    lifted = await command("start")
    assert "Paramedic is being retired" in lifted.out


def _assert_retired(ran: Ran, world: World) -> None:
    assert ran.code == 0, ran.err
    # If Temporal sees no worker for a while, retire cleans up in its place.
    ended = sum(ran.out.count(f"has ended: {why}") for why in ("it has cleaned up", "no worker is there"))
    assert ended == 3, ran.out
    assert "0 of 3 incidents have ended; not yet: " in ran.err
    assert f"deleted Lease/paramedic-system/{LEADER_LEASE}" in ran.out
    assert f"{world.cluster} is retired" in ran.out.splitlines()[-1]
