"""Workload clusters that are unreachable, not known yet, renamed, or deleted."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from devcluster.workload_cluster import inline_kubeconfig
from kube.client import Client
from kube.errors import NotFound
from kube.resource import EVENTS, NODES, Object, Resource
from kube.transport import Transport
from objects.timestamps import stamp
from tests.end_to_end.cluster_api.conftest import Workload
from tests.end_to_end.cluster_api.fleet import OWNER, Fleet
from tests.support.cluster.own_servers import API_SERVER
from tests.support.story.machine_incidents import CHECK
from tests.support.story.nodes import Nodes
from tests.support.story.paramedic import Paramedic
from tests.support.story.policies import NO_BACK_OFF, write_policy
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

UNREACHABLE = "WorkloadClusterUnreachable"
TIMEOUT = timedelta(seconds=6)
SLOW = {"type": "Ready", "status": "Unknown", "timeoutSeconds": TIMEOUT.seconds}
READS_NODES = Path(__file__).parents[3] / "deploy" / "workload-cluster" / "nodes.yaml"
_RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER_ROLES = Resource(_RBAC, "ClusterRole", "clusterroles", namespaced=False)
BINDINGS = Resource(_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
SLOWLY = {"unhealthyNodeConditions": [SLOW]}


@pytest.fixture(scope="module")
def policy() -> str:
    """Connections are lost after a short time, so that tests need not wait long."""
    return f"{NO_BACK_OFF}\nstalenessLimit: 10s"


@pytest.fixture
async def home(world: World, control_plane: ControlPlane) -> AsyncIterator[Fleet]:
    """Machines of a Cluster that is also the management cluster."""
    made = Fleet(world, Nodes(world.client, f"{world.name}-home"), cluster="home")
    await made.make()
    await made.publish(control_plane)
    yield made
    for node in made.nodes.nodes:
        await made.nodes.delete_node(node)


@pytest.mark.rule("rule 33/unreachable", "rule 33/clocks", "rule 3")
async def test_cluster_that_is_away_holds_its_own_check_alone_and_the_clocks_of_its_nodes_restart(
    fleet: Fleet, home: Fleet, workload: Workload
) -> None:
    (failed,), (other,) = await fleet.add("failed"), await home.add("other")
    away = await fleet.add_check(checks=SLOWLY)
    beside = await home.add_check("beside")
    await away.until_numbers(1, 1, 1)
    await beside.until_numbers(1, 1, 1)
    # Without a heartbeat nothing says that it was silent all the time.
    silent = {"type": "Ready", "status": "Unknown", "lastTransitionTime": stamp(datetime.now(UTC))}
    patch = {"status": {"conditions": [silent]}}
    await fleet.nodes.client.merge_patch(NODES, failed, patch, subresource="status")
    await fleet.until_state(failed, lambda state: state.phase == "Waiting")  # the check has observed it
    await workload.servers.kill(API_SERVER)

    told = await away.until_condition("RemediationAllowed", status="False", reason=UNREACHABLE)
    assert f"{fleet.namespace}/{fleet.cluster}" in told["message"]
    await fleet.until_held(failed, f"{UNREACHABLE}: ")
    await home.nodes.fail(other)
    await home.until_marked(other)
    assert (await beside.condition("RemediationAllowed"))["status"] == "True"
    assert not await fleet.condition(failed, OWNER)
    back = datetime.now(UTC).replace(microsecond=0)
    await workload.servers.start_api_server()
    await away.until_condition("RemediationAllowed", status="True")
    await fleet.until_marked(failed)
    since = datetime.fromisoformat((await fleet.condition(failed, OWNER))["lastTransitionTime"])
    assert since >= back + TIMEOUT
    # The detector may have seen the check before its Cluster, and reported the Cluster as missing.
    restricted = [event["message"] for event in await fleet.events(CHECK, "RemediationRestricted")]
    assert sum("cannot be seen" in message for message in restricted) == 1


@pytest.fixture
async def _patient(world: World, policy: str) -> AsyncIterator[None]:
    """The usual limit: a busy machine may not confirm a cluster that flaps every ten seconds."""
    await write_policy(world.client, NO_BACK_OFF)
    yield
    await write_policy(world.client, policy)


@pytest.mark.usefixtures("_patient")
@pytest.mark.rule("rule 33/unreachable", "rule 3")
async def test_cluster_that_flaps_holds_its_own_check_alone_until_it_is_calm(
    fleet: Fleet, home: Fleet
) -> None:
    failed, *restless = await fleet.add("failed", "a", "b", "c", "d")
    (other,) = await home.add("other")
    flapping, beside = await fleet.add_check(), await home.add_check("beside")
    await flapping.until_numbers(5, 5, 5)
    await beside.until_numbers(1, 1, 1)

    async with fleet.nodes.flapping(*restless):
        told = await flapping.until_condition("RemediationAllowed", status="False", reason=UNREACHABLE)
        assert f"{fleet.namespace}/{fleet.cluster} cannot be seen: they changed " in told["message"]
        await fleet.nodes.fail(failed)
        await home.nodes.fail(other)
        await home.until_marked(other)
        assert (await flapping.condition("RemediationAllowed"))["message"] == told["message"]
        assert not await fleet.condition(failed, OWNER)
    await flapping.until_condition("RemediationAllowed", status="True")
    await fleet.until_marked(failed)
    restricted = [event["message"] for event in await fleet.events(CHECK, "RemediationRestricted")]
    assert sum("they changed" in message for message in restricted) == 1


@pytest.mark.rule("rule 33", "rule 33/rotated", "rule 33/credentials")
async def test_secret_that_is_replaced_is_used_by_both_processes_and_no_token_is_reported_anywhere(
    fleet: Fleet, workload: Workload, paramedic: Paramedic
) -> None:
    plane = workload.control_plane
    async with await Transport.connect(str(plane.kubeconfig)) as transport:
        client = Client(transport, "end-to-end-test")
        first, second = (
            inline_kubeconfig(file) for file in (plane.detector_kubeconfig, plane.worker_kubeconfig)
        )
        bound = await let_read_nodes(client, fleet.namespace, user_of(first))
        await let_read_nodes(client, f"{fleet.namespace}-2", user_of(second))
        await fleet.set_secret(first)
        before, after = await fleet.add("before", "after")
        check = await fleet.add_check()
        await check.until_numbers(2, 2, 2)
        await fleet.nodes.fail(before)
        await fleet.until_marked(before)
        await fleet.set_secret(second)
        await client.delete(BINDINGS, bound)

        async def is_watched() -> bool:
            return ("watch", user_of(second)) in reads_of_nodes(plane.audit_log)

        await fleet.world.until(is_watched, "the other token was never used")
        await fleet.nodes.fail(after)
        await fleet.until_marked(after)
    reads = reads_of_nodes(plane.audit_log)
    assert {("get", user_of(first)), ("get", user_of(second)), ("watch", user_of(first))} <= reads
    await must_be_unknown(fleet, paramedic, [*tokens(first), *tokens(second)], before, after)


@pytest.mark.rule("rule 33/gone", "rule 10")
async def test_cluster_that_is_deleted_is_watched_no_longer_and_its_incidents_end(
    fleet: Fleet, paramedic: Paramedic
) -> None:
    (failed,) = await fleet.add("failed")
    check = await fleet.add_check()
    await fleet.nodes.fail(failed)
    await fleet.until_marked(failed)
    watched = f"nodes of {fleet.namespace}/{fleet.cluster}"

    async def is_watched() -> bool:
        samples = await paramedic.detector.metrics()
        return any(watched in dict(labels).values() for _, labels in samples)

    async def is_watched_no_longer() -> bool:
        return not await is_watched()

    await fleet.world.until(is_watched, f"{watched} were never watched")
    await check.until_numbers(1, 0, 0)
    await fleet.delete_cluster()  # this also removes the check that it owns
    assert await fleet.outcome(failed) == "Released"
    with pytest.raises(NotFound):
        await check.get()
    await fleet.world.until(is_watched_no_longer, f"{watched} are still watched")


def tokens(kubeconfig: str) -> list[str]:
    """The secrets that only the two processes may know."""
    return [entry["user"]["token"] for entry in json.loads(kubeconfig)["users"]]


def user_of(kubeconfig: str) -> str:
    """The user name that the API server assigns to its bearer token."""
    name: str = json.loads(kubeconfig)["users"][0]["name"]
    return name


async def let_read_nodes(client: Client, name: str, user: str) -> str:
    """Grant the rights of `deploy/` in a workload cluster; return the name of the binding."""
    role, binding = yaml.safe_load_all(READS_NODES.read_text())
    for grant in (role, binding):
        grant["metadata"]["name"] = name
    binding["roleRef"]["name"] = name
    binding["subjects"][0]["name"] = user
    await client.create(CLUSTER_ROLES, role)
    await client.create(BINDINGS, binding)
    return name


def reads_of_nodes(audit_log: Path) -> set[tuple[str, str]]:
    """The verbs of all reads of Nodes, with their users."""
    found = set()
    for line in audit_log.read_text().splitlines():
        if '"resource":"nodes"' not in line or not line.endswith("}"):
            continue
        event = json.loads(line)
        if event.get("responseStatus", {}).get("code") == 200:
            found.add((event["verb"], event["user"]["username"]))
    return found


async def must_be_unknown(fleet: Fleet, paramedic: Paramedic, secrets: list[str], *machines: str) -> None:
    """No history, log, Event, Machine or check of the test may contain any of these secrets."""
    histories = [await fleet.workflow(name).fetch_history() for name in machines]
    logs = [process.log.read_text() for process in (paramedic.detector, paramedic.worker)]
    resources = (EVENTS, fleet.api.machines, fleet.api.machine_health_checks)
    stored: list[list[Object]] = await asyncio.gather(
        *(fleet.client.list(resource, fleet.namespace) for resource in resources)
    )
    told = [*(history.to_json() for history in histories), *logs, json.dumps(stored)]
    assert not [secret for secret in secrets for text in told if secret in text]
