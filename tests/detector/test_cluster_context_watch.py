"""A kind that signals upgrades is installed while we run, on a real API server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.feeds.source import Source
from devcluster.control_plane import ControlPlane
from devcluster.demo.fixtures import CHECKS, NAMESPACE, spare_check
from health.cluster.upgrade import NEVER_UPGRADED, Upgrade, UpgradePhase, UpgradeSignal
from health.kinds.nodehealthcheck.disabled import OtherChecks
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from kube.client import Client
from kube.connection import ClusterConnection
from kube.resource import Object
from kube.transport import Transport
from objects.group_kind import GroupKind
from tests.support.api.eventually import eventually
from tests.support.story.other_kind import OtherKind

pytestmark = pytest.mark.cluster

NODES = NODE_HEALTH_CHECK.group_kind
LIMIT = timedelta(minutes=1)
FIFTEEN_SECONDS = 16.0
"""The promised time, and a margin for a busy machine."""


@pytest.fixture
async def other(control_plane: ControlPlane) -> AsyncIterator[OtherKind]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield OtherKind(Client(transport))


@pytest.fixture
def changes() -> list[Mapping[GroupKind, object]]:
    """The contexts of kinds, as of each reported change."""
    return []


@pytest.fixture
async def context(
    control_plane: ControlPlane, other: OtherKind, changes: list[Mapping[GroupKind, object]]
) -> AsyncIterator[ClusterContextWatch]:
    """A watch with the rights of the detector; the kind that signals upgrades is not served yet."""
    signal = UpgradeSignal.parse(f"{other.api_version}/{other.requests.kind}/RollingOut=True")
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        made = ClusterContextWatch(
            ClusterConnection.over(transport),
            "medik8s-leases",
            [signal],
            CHECK_KINDS,
            lambda: changes.append(made.of_kinds()),
        )
        running = [asyncio.create_task(source.run()) for source in made.sources.values()]
        yield made
        for task in running:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def upgrade(context: ClusterContextWatch) -> Upgrade:
    return context.upgrades()[0]


@pytest.mark.rule("rule 38", "rule 36", "rule 3")
async def test_kind_that_is_installed_later_is_noticed_in_time_and_holds_until_it_can_be_read(
    context: ClusterContextWatch, other: OtherKind, control_plane: ControlPlane
) -> None:
    await context.wait_tried()
    assert upgrade(context) == NEVER_UPGRADED
    assert context.unread(NODES, LIMIT) is None
    await other.install()

    await eventually(lambda: "forbidden" in upgrade(context).why_unknown, FIFTEEN_SECONDS)
    assert f"{other.requests.kind} ({other.api_version}): " in str(context.unread(NODES, LIMIT))
    await _roll_out(control_plane, other)
    await other.grant()

    await eventually(lambda: upgrade(context).phase is UpgradePhase.UNDER_WAY, FIFTEEN_SECONDS)
    assert context.unread(NODES, LIMIT) is None


async def test_edit_of_a_check_that_changes_no_context_is_no_change_of_it(
    context: ClusterContextWatch, changes: list[Mapping[GroupKind, object]], control_plane: ControlPlane
) -> None:
    await context.wait_tried()
    (source,) = (source for name, source in context.sources.items() if "machinehealthchecks" in name)
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport)
        await client.create(CHECKS, spare_check() | {"metadata": {"name": "noted"}}, NAMESPACE)
        await eventually(lambda: bool(changes) and changes[-1][NODES] is OtherChecks.OTHERS)
        before = len(changes)
        edit = {"metadata": {"annotations": {"example.com/edited": "yes"}}}
        edited = await client.merge_patch(CHECKS, "noted", edit, NAMESPACE)
        version = edited["metadata"]["resourceVersion"]
        await eventually(lambda: version in _versions(source))
        assert len(changes) == before
        await client.delete(CHECKS, "noted", NAMESPACE)
        await eventually(lambda: version not in _versions(source))
    assert changes[-1] == context.of_kinds()


def _versions(source: Source) -> set[str]:
    return {record.metadata.resource_version for record in source.store.values()}


async def _roll_out(control_plane: ControlPlane, other: OtherKind) -> None:
    condition = {"type": "RollingOut", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    body: Object = {
        "apiVersion": other.api_version,
        "kind": other.requests.kind,
        "metadata": {"name": "blue"},
        "status": {"conditions": [condition]},
    }
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        await Client(transport).create(other.requests, body, "default")
