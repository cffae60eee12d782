"""Nodes of a workload cluster that change too often are delayed, and then passed on once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from detector.feeds import change_budget
from detector.feeds.change_budget import budget_for
from detector.feeds.node_watch import NodeWatch
from health.model.node import Node
from health.model.target import TargetName
from kube.connection import ClusterConnection
from kube.reflector_settings import patient
from kube.resource import NODES, Object
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, LiveWatch, said
from tests.support.api.eventually import eventually
from tests.support.state.node_callbacks import NodeCallbacks
from tests.support.values.builders import NOW, condition, node_object

LIMIT = timedelta(minutes=1)
HEALTHY, FAILED = condition("Ready", "True"), condition("Ready", "False")
UNDECODABLE = {"type": "Ready", "status": "True", "lastTransitionTime": "0000-01-01T00:00:00Z"}


class Cluster:
    """A NodeWatch over Nodes that a test changes; it records what it passes on."""

    def __init__(self, server: ApiServer, transport: Transport, *names: str) -> None:
        self._version = 10
        self._watch = LiveWatch()
        items = [self._body("ADDED", name, HEALTHY)["object"] for name in names]
        listed = {"metadata": {"resourceVersion": str(self._version)}, "items": items}
        server.answer("GET", NODES.path(), said(listed))
        server.watch(NODES.path(), self._watch)
        self.told: list[tuple[str, str]] = []
        """Each Node that was told of, with its uid; "" if it was gone."""
        self.now: dict[str, Node] = {}
        self.undecodable: dict[str, str] = {}
        self.times_undecodable = 0
        self.problems: list[str | None] = []
        """Why nothing may be judged, with each Node that was told of."""
        self.nodes = NodeWatch("fleet/east", NodeCallbacks(self._notify, self._note), patient, lambda: NOW)
        self._reflector = self.nodes.connect(ClusterConnection.over(transport, cluster="fleet/east"))

    def _notify(self, name: TargetName, node: Node | None) -> None:
        self.told.append((name.name, node.metadata.uid if node else ""))
        self.problems.append(self.problem)
        if node is None:
            self.now.pop(name.name)
        else:
            self.now[name.name] = node

    def _note(self, name: TargetName, problem: str) -> None:
        self.undecodable[name.name] = problem
        self.times_undecodable += 1

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        running = [asyncio.create_task(self._reflector.run()), asyncio.create_task(self._follow())]
        try:
            await self._reflector.wait_synced()
            yield
        finally:
            for task in running:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _follow(self) -> None:
        await self.nodes.forget_gone()
        await self.nodes.follow_budget()

    @property
    def problem(self) -> str | None:
        unread = self.nodes.unread(LIMIT)
        return None if unread is None else unread.problem

    def send(self, kind: str, name: str, *conditions: Any, uid: str = "u") -> None:
        self._watch.send(self._body(kind, name, *conditions, uid=uid))

    def _body(self, kind: str, name: str, *conditions: Any, uid: str = "u") -> Object:
        self._version += 1
        node = node_object(*conditions, name=name, uid=uid)
        node["metadata"]["resourceVersion"] = str(self._version)
        return {"type": kind, "object": node}

    def flap(self, name: str, times: int) -> None:
        for number in range(times):
            self.send("MODIFIED", name, FAILED if number % 2 else HEALTHY)

    @property
    def health(self) -> dict[str, str]:
        """The status of the condition of each Node that was passed on, by name."""
        return {name: node.status.conditions[0].status for name, node in self.now.items()}


@asynccontextmanager
async def cluster(directory: Path, *names: str) -> AsyncIterator[Cluster]:
    async with ApiServer(directory) as server, await Transport.connect(str(server.kubeconfig)) as transport:
        made = Cluster(server, transport, *names)
        async with made.open():
            yield made


@pytest.fixture(autouse=True)
def calm_comes_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_budget, "CALM_SECONDS", 0.3)
    monkeypatch.setattr(change_budget, "LOOK_SECONDS", 0.05)


async def test_nodes_of_a_cluster_that_flaps_are_not_reported_beyond_its_budget(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a", "b") as flapping:
        flapping.flap("a", 2_000)
        await eventually(lambda: flapping.problem)
        assert " and the budget for 2 Nodes is 312 changes at once and 5 a second" in str(flapping.problem)
        await eventually(lambda: flapping.problem is None)
        assert len(flapping.told) < budget_for(2).at_once + 50
        assert flapping.health == {"a": "False", "b": "True"}


async def test_whatever_became_of_each_node_meanwhile_is_true_once_the_cluster_has_no_problem(
    tmp_path: Path,
) -> None:
    names = ("a", "fails", "goes", "is-replaced", "breaks", "comes-and-goes")
    async with cluster(tmp_path, *names[:-1]) as flapping:
        flapping.flap("a", 1_000)
        flapping.send("MODIFIED", "fails", FAILED)
        flapping.send("DELETED", "goes", HEALTHY)
        flapping.send("DELETED", "is-replaced", HEALTHY)
        flapping.send("ADDED", "is-replaced", FAILED, uid="another")
        flapping.send("MODIFIED", "breaks", UNDECODABLE)
        flapping.send("ADDED", "comes", HEALTHY)
        flapping.send("ADDED", "comes-and-goes", HEALTHY)
        flapping.send("DELETED", "comes-and-goes", HEALTHY)
        await eventually(lambda: flapping.problem)
        before = len(flapping.told)
        await eventually(lambda: flapping.problem is None)

        assert flapping.health == {"a": "False", "fails": "False", "is-replaced": "False", "comes": "True"}
        assert {name for name, problem in flapping.undecodable.items() if problem} == {"breaks"}
        after = flapping.told[before:]
        assert after.index(("is-replaced", "")) < after.index(("is-replaced", "another"))
        assert "comes-and-goes" not in dict(after)
        assert all(flapping.problems[before:])


async def test_node_that_breaks_and_is_mended_while_it_waits_was_never_broken(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a", "b") as flapping:
        flapping.flap("a", 1_000)
        flapping.send("MODIFIED", "b", UNDECODABLE)
        flapping.send("MODIFIED", "b", FAILED)
        await eventually(lambda: flapping.problem)
        await eventually(lambda: flapping.problem is None)
        assert flapping.health == {"a": "False", "b": "False"}
        assert not any(flapping.undecodable.values())


async def test_objects_that_break_as_fast_as_they_can_use_the_budget_too(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a", "b") as flapping:
        for _ in range(400):
            flapping.send("MODIFIED", "b", UNDECODABLE)
            flapping.send("MODIFIED", "b", HEALTHY)
        await eventually(lambda: flapping.problem)
        await eventually(lambda: flapping.problem is None)
        assert flapping.health == {"a": "True", "b": "True"}
        assert flapping.times_undecodable + len(flapping.told) < budget_for(2).at_once + 50


async def test_cluster_with_more_nodes_than_its_budget_allows_at_once_is_read_without_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_budget, "AT_ONCE", 10)
    monkeypatch.setattr(change_budget, "AT_ONCE_FOR_A_NODE", 0)
    async with cluster(tmp_path, *(f"node-{number}" for number in range(100))) as large:
        assert len(large.now) == 100
        assert large.problem is None


async def test_heartbeats_use_no_budget(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a") as calm:
        for _ in range(1_000):
            calm.send("MODIFIED", "a", HEALTHY)
        calm.send("MODIFIED", "a", FAILED)
        await eventually(lambda: calm.health == {"a": "False"})
        assert calm.problem is None
        assert len(calm.told) == 2
