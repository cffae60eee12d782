"""Shares one Temporal server between all processes of a test run. The xdist controller starts it.

Each worker process has its own namespace on that server. A run without xdist starts its own server.
"""

import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from devcluster import temporal
from devcluster.bound import bind
from devcluster.layout import Layout
from devcluster.polling import until
from devcluster.supervisor import COLLECT_RARELY, inherited
from devcluster.supervisor import PATIENCE as ENDS_WITHIN
from devcluster.temporal import PATIENCE, TemporalServer
from tests.support.api.ports import own_layout
from tests.support.cluster.temporal_servers import TIME_SKIPPING, temporal_server

INPUT = "temporal"
CORES = "2"
"""All workers use this server."""


@dataclass(frozen=True)
class SharedServer:
    """A server with one namespace for each worker process; it may not be ready yet."""

    layout: Layout
    process: "subprocess.Popen[bytes]"

    @classmethod
    def start(cls, layout: Layout, namespaces: Sequence[str]) -> Self:
        with layout.log("temporal").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603  ours
                bind(temporal.command(layout, namespaces, TIME_SKIPPING)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**inherited(), **COLLECT_RARELY, "GOMAXPROCS": CORES},
                start_new_session=True,  # Ctrl-C is meant for pytest; the server is stopped after the tests
            )
        return cls(layout, process)

    def end(self) -> None:
        """Terminate the server, and kill it if it does not exit."""
        self.process.terminate()
        try:
            self.process.wait(ENDS_WITHIN.total_seconds())
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(ENDS_WITHIN.total_seconds())


SHARED = pytest.StashKey[SharedServer]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the address of the server to a new worker process."""
    config = node.config
    if SHARED not in config.stash:
        directory = config._tmp_path_factory.getbasetemp() / "temporal"  # noqa: SLF001  pytest-xdist does so
        namespaces = [f"gw{number}" for number in range(config.option.numprocesses)]
        config.stash[SHARED] = SharedServer.start(own_layout(directory), namespaces)
    node.workerinput[INPUT] = asdict(temporal.server_of(config.stash[SHARED].layout, node.gateway.id))


def pytest_unconfigure(config: pytest.Config) -> None:
    if SHARED in config.stash:
        config.stash[SHARED].end()


def is_one_of_many(config: pytest.Config) -> bool:
    """True in an xdist worker, which uses the server of the run."""
    return hasattr(config, "workerinput")


@asynccontextmanager
async def shared_temporal_server(config: pytest.Config, directory: Path) -> AsyncIterator[TemporalServer]:
    """The shared server of the run, or else a new one on `directory`; ready when the block begins."""
    if not is_one_of_many(config):
        async with temporal_server(directory, *TIME_SKIPPING) as own:
            yield own
        return
    server = TemporalServer(**config.workerinput[INPUT])  # type: ignore[attr-defined]  # as just seen
    await until(
        lambda: temporal.is_ready(server), within=PATIENCE, otherwise=f"{server} does not become ready"
    )
    yield server
