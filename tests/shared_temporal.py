"""The Temporal server of a run: the process that hands out tests starts it for all that run them.

Each of those has a namespace of its own there. A process that runs tests alone starts one for itself.
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
from devcluster.layout import Layout, lay_out
from devcluster.polling import until
from devcluster.supervisor import COLLECT_RARELY, inherited
from devcluster.supervisor import PATIENCE as ENDS_WITHIN
from devcluster.temporal import PATIENCE, TemporalServer
from tests.temporal_servers import TIME_SKIPPING, temporal_server

INPUT = "temporal"
CORES = "2"
"""As all share it."""


@dataclass(frozen=True)
class SharedServer:
    """A server with a namespace for each process; it may not be ready yet."""

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
                start_new_session=True,  # Ctrl-C is for who runs tests; it is ended after them
            )
        return cls(layout, process)

    def end(self) -> None:
        """Politely, then by force."""
        self.process.terminate()
        try:
            self.process.wait(ENDS_WITHIN.total_seconds())
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(ENDS_WITHIN.total_seconds())


SHARED = pytest.StashKey[SharedServer]()


def pytest_configure_node(node: Any) -> None:
    """Tell a process that is to run tests where the server is."""
    config = node.config
    if SHARED not in config.stash:
        directory = config._tmp_path_factory.getbasetemp() / "temporal"  # noqa: SLF001  pytest-xdist does so
        namespaces = [f"gw{number}" for number in range(config.option.numprocesses)]
        config.stash[SHARED] = SharedServer.start(lay_out(directory), namespaces)
    node.workerinput[INPUT] = asdict(temporal.server_of(config.stash[SHARED].layout, node.gateway.id))


def pytest_unconfigure(config: pytest.Config) -> None:
    """End it."""
    if SHARED in config.stash:
        config.stash[SHARED].end()


def is_one_of_many(config: pytest.Config) -> bool:
    """Whether this process runs those tests that another one hands out to it."""
    return hasattr(config, "workerinput")


@asynccontextmanager
async def shared_temporal_server(config: pytest.Config, directory: Path) -> AsyncIterator[TemporalServer]:
    """The one of the run, or else one on `directory`; ready when the block begins."""
    if not is_one_of_many(config):
        async with temporal_server(directory, *TIME_SKIPPING) as own:
            yield own
        return
    server = TemporalServer(**config.workerinput[INPUT])  # type: ignore[attr-defined]  # as just seen
    await until(
        lambda: temporal.is_ready(server), within=PATIENCE, otherwise=f"{server} does not become ready"
    )
    yield server
