"""The Nodes of one cluster, read through one connection after the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from detector.watching.node_watch import NodeWatch
from health.model.target import TargetName
from kube.connection import ClusterConnection
from kube.reflector_settings import patient
from kube.resource import NODES, Object
from kube.transport import Transport
from tests.kube.api_server import ApiServer, lines, said
from tests.objects import NOW, condition, node_object

READY = condition("Ready", "True")
UNDECODABLE = {"type": "Ready", "status": "True", "lastTransitionTime": "0000-01-01T00:00:00Z"}


@asynccontextmanager
async def serving(directory: Path, *nodes: Object) -> AsyncIterator[ClusterConnection]:
    items = [one | {"metadata": one["metadata"] | {"resourceVersion": "9"}} for one in nodes]
    async with AsyncExitStack() as opened:
        server = await opened.enter_async_context(ApiServer(directory))
        server.answer("GET", NODES.path(), said({"metadata": {"resourceVersion": "10"}, "items": items}))
        server.watch(NODES.path(), lines(then="silent"))
        transport = await opened.enter_async_context(await Transport.connect(str(server.kubeconfig)))
        yield ClusterConnection.over(transport, cluster="fleet/east")


async def read_through(watch: NodeWatch, connection: ClusterConnection) -> None:
    """Read all Nodes through `connection`, and leave it."""
    running = asyncio.create_task(watch.connect(connection).run())
    await watch.forget_gone()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "one", tmp_path / "two"
    for one in made:
        one.mkdir()
    return made


@pytest.mark.rule("rule 8/node", "rule 33/gone")
async def test_node_that_another_connection_can_read_or_shows_as_gone_is_no_longer_told_as_undecodable(
    directories: tuple[Path, Path],
) -> None:
    problems: dict[str, str] = {}

    def undecodable(name: TargetName, problem: str) -> None:
        problems[name.name] = problem

    watch = NodeWatch("fleet/east", lambda *_: None, undecodable, patient, lambda: NOW)
    broken = [node_object(UNDECODABLE, name=name) for name in ("mended", "gone", "still-broken")]
    async with (
        serving(directories[0], *broken) as one,
        serving(directories[1], node_object(READY, name="mended"), broken[2]) as two,
    ):
        await read_through(watch, one)
        assert all(problems.values())
        await read_through(watch, two)
        assert {name for name, problem in problems.items() if problem} == {"still-broken"}
    watch.forget()
    assert not any(problems.values())
