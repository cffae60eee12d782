"""Workload clusters that for a moment no check names, because the only check could not be read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from detector.feeds import workload_clusters
from detector.feeds.node_watch import LOST, BlindTime, NodeWatch
from detector.feeds.workload_clusters import WorkloadAccess, WorkloadClusters
from health.model.node import Node
from health.model.target import TargetName
from kube import time_slice
from kube.connection import ClusterConnection
from kube.reflector_settings import patient
from kube.server_clock import wall_clock
from objects.clusters import SecretField
from runtime.guard import Guard
from tests.support.state.node_callbacks import NodeCallbacks
from tests.support.values.builders import node_object

EAST = "east"
WANTED = {EAST: SecretField("machines", "east-kubeconfig", "value")}
BACK = BlindTime(until=datetime(2026, 1, 1, 3, tzinfo=UTC))


class Clusters:
    """The clusters of a detector, none of which can be reached."""

    def __init__(self) -> None:
        access = WorkloadAccess(self._connect, self._close, lambda _: BlindTime())
        self.known = WorkloadClusters(access, self._watch, NodeCallbacks(), Guard())
        self._tasks = asyncio.TaskGroup()
        self.gone: list[str] = []

    def note(self, name: TargetName, node: Node | None) -> None:
        if node is None:
            self.gone.append(name.name)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with self._tasks:
            yield
            self.name()

    def name(self, *clusters: str) -> None:
        self.known.name(dict.fromkeys(clusters, WANTED[EAST]), self._tasks)

    def lose(self, blind_time: BlindTime) -> None:
        [nodes] = self.known.watches
        nodes.resume(blind_time)

    def _watch(self, cluster: str) -> NodeWatch:
        return NodeWatch(cluster, NodeCallbacks(self.note, lambda *_: None), patient, wall_clock)

    @staticmethod
    async def _connect(cluster: str, secret: SecretField) -> ClusterConnection:
        await asyncio.Event().wait()
        raise AssertionError(cluster, secret)

    @staticmethod
    async def _close(cluster: str) -> None: ...


@pytest.fixture
async def clusters() -> AsyncIterator[Clusters]:
    made = Clusters()
    async with made.open():
        yield made


@pytest.mark.rule("rule 33/clocks")
@pytest.mark.parametrize("blind_time", [BACK, LOST])
async def test_lost_connection_is_not_forgotten_with_the_cluster(
    clusters: Clusters, blind_time: BlindTime
) -> None:
    clusters.name(EAST)
    clusters.lose(blind_time)
    clusters.name()
    assert clusters.known.blind_times() == {EAST: blind_time}

    clusters.name(EAST)
    [nodes] = clusters.known.watches
    assert nodes.blind_time == blind_time


@pytest.mark.rule("rule 33/clocks")
async def test_of_clusters_that_are_forgotten_the_latest_are_remembered(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload_clusters, "MOST_FORGOTTEN", 2)
    for cluster in ("one", "two", "three"):
        clusters.name(cluster)
        clusters.lose(BACK)
    clusters.name()
    assert clusters.known.blind_times().keys() == {"two", "three"}


async def test_no_caller_waits_for_a_cluster_that_was_given_up(clusters: Clusters) -> None:
    clusters.name(EAST)
    waiting = asyncio.create_task(clusters.known.wait_tried(EAST))
    await asyncio.sleep(0)
    clusters.name()
    async with asyncio.timeout(60):
        await waiting


async def test_caller_that_waits_for_a_cluster_given_up_and_asked_for_again_waits_for_the_new_try(
    clusters: Clusters,
) -> None:
    clusters.name(EAST)
    waiting = asyncio.create_task(clusters.known.wait_tried(EAST))
    await asyncio.sleep(0)
    clusters.name()
    clusters.name(EAST)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await asyncio.shield(waiting)
    clusters.name()
    async with asyncio.timeout(60):
        await waiting


async def test_nodes_of_a_cluster_that_is_asked_for_again_are_not_reported_as_gone_any_more(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    clusters.name(EAST)
    [nodes] = clusters.known.watches
    earlier = NodeWatch(EAST, NodeCallbacks(clusters.note, lambda *_: None), patient, wall_clock)
    for number in range(20):
        earlier._notify_name(f"node-{number}", Node.model_validate(node_object()))  # noqa: SLF001  as its reflector does
    nodes.take_over(earlier)

    clusters.name()
    await asyncio.sleep(0)
    assert len(clusters.gone) == 1
    clusters.name(EAST)
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(clusters.gone) == 1

    clusters.name()
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(clusters.gone) == len(set(clusters.gone)) == 20
