"""OpenShift: an upgrade holds new requests but not the clean-up; etcd's budget holds nodes it needs."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from devcluster.control_plane import ControlPlane
from health.cluster.upgrade import CLUSTER_VERSION
from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import NAMESPACES, NODES, Object
from kube.transport import Transport
from tests.end_to_end.holds import until_held
from tests.support.cluster.openshift import BUDGETS, ETCD, Openshift
from tests.support.story.openshift import OpenShift, openshift_of
from tests.support.story.other_kind import OtherKind
from tests.support.story.pairs import Pairs
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
DURATION = timedelta(seconds=10)
"""Long enough to observe a running timer."""
SHORT = timedelta(seconds=4)
POSTPONED = (
    "Normal",
    "RemediationSkipped",
    "[remediation] Postponing potential remediations because of ongoing cluster upgrade",
)


@pytest.fixture(scope="module")
def settings(other_kind: OtherKind) -> dict[str, str]:
    """Objects of the other kind signal upgrades, too."""
    signal = f"{other_kind.api_version}/{other_kind.requests.kind}/RollingOut=True"
    return {"PARAMEDIC_UPGRADE_SIGNALS": f"{CLUSTER_VERSION},{signal}"}


@pytest.fixture(scope="module")
async def openshift(control_plane: ControlPlane, pairs: Pairs) -> AsyncIterator[OpenShift]:
    """ClusterVersions are served from before our processes start until they have stopped."""
    await pairs.stop()
    async with openshift_of(control_plane) as made:
        await made.serve_cluster_versions()
        await made.set_progressing("False")
        yield made
        await pairs.stop()


@pytest.mark.rule(
    "NHC 2.1/10",
    "NHC 1.5/RemediationSkipped/upgrade",
    "rule 17",
    "rule 37",
    "rule 6",
    "rule 7/clean-up",
    "rule 15",
)
async def test_nothing_new_is_done_during_an_upgrade_but_clean_ups_and_clocks_restart_at_its_end(
    world: World, openshift: OpenShift
) -> None:
    at_work, first, second = await world.add_nodes(3)
    await world.add_check(duration=f"{DURATION.seconds}s")
    await world.set_ready(at_work, "Unknown", datetime.now(UTC) - DURATION)
    await world.until_phase(at_work, "Remediating")
    await openshift.set_progressing("True")
    await world.fail(first)

    await world.recover(at_work)
    assert await world.outcome(at_work) == "Remediated"
    await world.until_clean(at_work)
    await world.until_phase(first, "Held")
    assert "Upgrading: the cluster is being upgraded since" in (await world.state(first)).details
    await world.until_status(phase="Enabled", observedNodes=3, healthyNodes=2)
    assert world.requests.created(first) == 0
    await world.until_told(*POSTPONED[1:])
    ended = await openshift.set_progressing("False")

    await world.until_phase(first, "Waiting")
    await world.until_requested(first)
    made = datetime.fromisoformat((await world.request(first))["metadata"]["creationTimestamp"])
    assert made >= ended + DURATION
    assert (await world.events()).count(POSTPONED) == 1
    assert world.requests.created(second) == 0


async def _set_rolling_out(world: World, other: OtherKind, status: str) -> datetime:
    """Set the rollout condition of an object of the other kind as of now; return the time."""
    now = datetime.now(UTC).replace(microsecond=0)
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "RollingOut", "status": status, "lastTransitionTime": stamp}
    body: Object = {
        "apiVersion": other.requests.api_version,
        "kind": other.requests.kind,
        "metadata": {"name": "blue"},
    }
    with suppress(AlreadyExists):
        await world.client.create(other.requests, body, "default")
    patch: Object = {"status": {"conditions": [condition]}}
    await world.client.merge_patch(other.requests, "blue", patch, "default")
    return now


@pytest.mark.rule("rule 38", "rule 37")
@pytest.mark.usefixtures("openshift")
async def test_nothing_new_is_done_while_an_object_of_the_setting_signals_an_upgrade(
    world: World, other_kind: OtherKind
) -> None:
    await _set_rolling_out(world, other_kind, "True")
    (node,) = await world.add_nodes(1)
    await world.add_check(duration=f"{SHORT.seconds}s")
    await world.fail(node)

    await until_held(world, node, "Upgrading: ", "says Reset/default/blue: RollingOut=True")
    assert world.requests.created(node) == 0
    ended = await _set_rolling_out(world, other_kind, "False")

    await world.until_requested(node)
    made = datetime.fromisoformat((await world.request(node))["metadata"]["creationTimestamp"])
    assert made >= ended + SHORT


@pytest.fixture
async def etcd(control_plane: ControlPlane, openshift: OpenShift) -> AsyncIterator[Openshift]:  # noqa: ARG001  it is of OpenShift
    """The namespace of etcd, which our worker may read, without a disruption budget yet."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        made = Openshift(Client(transport))
        with suppress(AlreadyExists):
            await made.client.create(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ETCD}}
            )
        await made.grant()
        yield made
        await made.empty()
        await made.revoke()


@pytest.mark.rule("NHC 2.4/1", "NHC 1.5/RemediationSkipped/control plane", "rule 15", "rule 21")
async def test_node_that_etcd_cannot_spare_is_reported_once_and_remediated_when_it_can(
    etcd: Openshift, world: World
) -> None:
    (node,) = await world.add_nodes(1)
    await world.client.merge_patch(NODES, node, {"metadata": {"labels": {CONTROL_PLANE: ""}}})
    await etcd.make_budget("guard", allowed=0)
    await etcd.make_guard(node, "True")
    await world.add_check()
    await world.fail(node)

    words = (
        f"[remediation] Skipping remediation of {node} for preventing control plane / etcd quorum loss, "
        "going to retry in a minute"
    )
    told = ("Warning", "RemediationSkipped", words)

    async def is_reported() -> bool:
        return told in await world.events()

    await world.until(is_reported, f"{told} was never told")
    await world.until_phase(node, "Held")
    assert "etcd allows no disruption now" in (await world.state(node)).details
    assert world.requests.created(node) == 0

    await etcd.client.merge_patch(
        BUDGETS, "guard", {"status": {"disruptionsAllowed": 1}}, ETCD, subresource="status"
    )
    await (await world.workflow(node)).signal("wake")
    await world.until_requested(node)
    assert (await world.events()).count(told) == 1
