"""The Nodes of one cluster, read through one connection after the other."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from detector.feeds.node_watch import NodeWatch
from health.model.node import Node
from health.model.target import TargetName
from kube import time_slice
from kube.connection import ClusterConnection
from kube.decoding import ObjectEvent
from kube.record import ChangeKind
from kube.reflector_settings import patient
from kube.resource import NODES, Object
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, lines, said
from tests.support.state.node_callbacks import NodeCallbacks
from tests.support.values.builders import NOW, condition, node_object

READY = condition("Ready", "True")
UNDECODABLE = {"type": "Ready", "status": "True", "lastTransitionTime": "0000-01-01T00:00:00Z"}


@asynccontextmanager
async def serving(directory: Path, *nodes: Object) -> AsyncIterator[ClusterConnection]:
    items = [node | {"metadata": node["metadata"] | {"resourceVersion": "9"}} for node in nodes]
    async with AsyncExitStack() as opened:
        server = await opened.enter_async_context(ApiServer(directory))
        server.answer("GET", NODES.path(), said({"metadata": {"resourceVersion": "10"}, "items": items}))
        server.watch(NODES.path(), lines(then="silent"))
        transport = await opened.enter_async_context(await Transport.connect(str(server.kubeconfig)))
        yield ClusterConnection.over(transport, cluster="fleet/east")


async def read_through(watch: NodeWatch, connection: ClusterConnection) -> None:
    """Read all Nodes through `connection`, then close it."""
    running = asyncio.create_task(watch.connect(connection).run())
    await watch.forget_gone()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "one", tmp_path / "two"
    for directory in made:
        directory.mkdir()
    return made


@pytest.mark.rule("rule 8/node", "rule 33/gone")
async def test_node_that_another_connection_can_read_or_shows_as_gone_is_no_longer_reported_as_undecodable(
    directories: tuple[Path, Path],
) -> None:
    problems: dict[str, str] = {}

    def undecodable(name: TargetName, problem: str) -> None:
        problems[name.name] = problem

    watch = NodeWatch("fleet/east", NodeCallbacks(lambda *_: None, undecodable), patient, lambda: NOW)
    broken = [node_object(UNDECODABLE, name=name) for name in ("mended", "gone", "still-broken")]
    async with (
        serving(directories[0], *broken) as one,
        serving(directories[1], node_object(READY, name="mended"), broken[2]) as two,
    ):
        await read_through(watch, one)
        assert all(problems.values())
        await read_through(watch, two)
        assert {name for name, problem in problems.items() if problem} == {"still-broken"}
    await watch.forget()
    assert not any(problems.values())


class Told:
    """Records the changed Nodes, and how often other tasks ran before each call."""

    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self.turns = 0
        self.at: list[int] = []
        self.on_call: Callable[[str], None] = lambda _: None

    def notify(self, name: TargetName, node: Node | None) -> None:
        self.at.append(self.turns)
        (self.nodes.discard if node is None else self.nodes.add)(name.name)
        self.on_call(name.name)

    def notify_undecodable(self, name: TargetName, problem: str) -> None:
        self.at.append(self.turns)
        (self.nodes.add if problem else self.nodes.discard)(name.name)

    def watch(self) -> NodeWatch:
        return NodeWatch(
            "fleet/east", NodeCallbacks(self.notify, self.notify_undecodable), patient, lambda: NOW
        )

    async def look_for_ever(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)


@pytest.fixture
async def told(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Told]:
    """By the clock of this test each item is its own slice."""
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    made = Told()
    looking = asyncio.create_task(made.look_for_ever())
    yield made
    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking


def many(*, broken: int = 0) -> list[Object]:
    names = [f"node-{number}" for number in range(20)]
    return [
        node_object(UNDECODABLE if number < broken else READY, name=name) for number, name in enumerate(names)
    ]


async def test_other_tasks_run_while_the_nodes_of_a_cluster_are_forgotten(
    told: Told, directories: tuple[Path, Path]
) -> None:
    watch = told.watch()
    async with serving(directories[0], *many(broken=10)) as one:
        await read_through(watch, one)
    assert len(told.nodes) == 20

    told.at.clear()
    await watch.forget()
    assert told.nodes == set()
    assert len(set(told.at)) == 20


async def test_other_tasks_run_while_nodes_that_went_between_two_connections_are_reported(
    told: Told, directories: tuple[Path, Path]
) -> None:
    watch = told.watch()
    kept = node_object(READY, name="kept")
    async with serving(directories[0], *many(broken=10), kept) as one, serving(directories[1], kept) as two:
        await read_through(watch, one)
        running = asyncio.create_task(watch.connect(two).run())
        await watch.wait_read()
        told.at.clear()
        await watch.forget_gone()
        running.cancel()
    assert told.nodes == {"kept"}
    assert len(set(told.at)) == 20


async def test_node_that_comes_back_while_others_are_reported_as_gone_stays(
    told: Told, directories: tuple[Path, Path]
) -> None:
    watch = told.watch()
    async with serving(directories[0], *many()) as one, serving(directories[1]) as two:
        await read_through(watch, one)
        source = watch.connect(two)
        running = asyncio.create_task(source.run())
        await watch.wait_read()

        def come_back(gone: str) -> None:
            """The first Node that is reported as gone returns, and another one with it."""
            told.on_call = lambda _: None
            back = next(iter(told.nodes - {gone}))
            node = Node.model_validate(node_object(READY, name=back))
            source._report_changes(source._object_store.apply(ObjectEvent(ChangeKind.ADDED, node)))  # noqa: SLF001  as a watch does

        told.on_call = come_back
        await watch.forget_gone()
        running.cancel()
    assert len(told.nodes) == 1


async def test_nodes_that_are_not_reported_as_gone_yet_are_left_to_the_next_watch_of_the_cluster(
    told: Told, directories: tuple[Path, Path]
) -> None:
    watch = told.watch()
    async with serving(directories[0], *many(broken=10)) as one:
        await read_through(watch, one)
    forgetting = asyncio.create_task(watch.forget())
    await asyncio.sleep(0)
    forgetting.cancel()
    assert len(told.nodes) == 19

    again = told.watch()
    again.take_over(watch)
    async with serving(directories[1], many()[19]) as two:
        await read_through(again, two)
    assert told.nodes == {"node-19"}
