"""Detector and worker as real processes, to be started, killed and stopped by a test."""

import asyncio
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import aiohttp

from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.temporal import TemporalServer
from tests.forked import Forked, fork
from tests.ports import free_port
from tests.samples_of_metrics import Series, samples_in

PATIENCE = timedelta(seconds=60)


class OurProcess:
    """`python -m detector` or `python -m worker`, of one cluster name."""

    def __init__(
        self, name: str, environment: dict[str, str], log: Path, entry: Callable[[], NoReturn] | None = None
    ) -> None:
        self.name = name
        self._entry = entry
        self.environment = environment
        self.log = log
        self._process: Forked | None = None

    async def start(self) -> None:
        """Start it; it need not be ready."""
        self.environment["PARAMEDIC_READY_ADDRESS"] = f"127.0.0.1:{free_port()}"
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("TEMPORAL_")}
        environment = inherited | self.environment
        with self.log.open("ab") as log:
            self._process = fork(
                self.name, (), environment, entry=self._entry, out=log.fileno(), err=log.fileno()
            )

    async def start_ready(self) -> None:
        """Start it and wait until it is ready."""
        await self.start()
        await self.ready()

    async def ready(self) -> None:
        """Return when it is ready."""

        async def is_ready() -> bool:
            assert not self.has_died, f"{self.name} has died, see {self.log}"
            return (await self.readiness())[0] == 200

        await until(is_ready, within=PATIENCE, otherwise=f"{self.name} is not ready, see {self.log}")

    async def readiness(self) -> tuple[int, str]:
        """Status and text of GET /readyz; (0, "") while it does not listen."""
        url = f"http://{self.environment['PARAMEDIC_READY_ADDRESS']}/readyz"
        try:
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                return response.status, await response.text()
        except aiohttp.ClientConnectionError:
            return 0, ""

    async def metrics(self) -> dict[Series, float]:
        """Every sample of GET /metrics."""
        url = f"http://{self.environment['PARAMEDIC_READY_ADDRESS']}/metrics"
        async with aiohttp.ClientSession(raise_for_status=True) as session, session.get(url) as response:
            return samples_in(await response.text())

    async def exit_code(self) -> int:
        """How it ends by itself."""
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await self._running.wait()

    async def kill(self) -> None:
        """Kill it with -9, as a machine that loses power would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """End it as a Deployment would."""
        await self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """Stop its threads where they are, as a machine that swaps or is migrated would."""
        self._running.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._running.send_signal(signal.SIGCONT)

    @property
    def is_down(self) -> bool:
        """Whether it was not started yet, or was ended by the test."""
        return self._process is None

    @property
    def has_died(self) -> bool:
        """Whether it was started, was not ended by the test, and ended all the same."""
        return self._process is not None and self._process.returncode is not None

    @property
    def _running(self) -> Forked:
        assert self._process is not None
        return self._process

    async def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)  # a frozen one ends, too
        await process.wait()


def our_process(  # noqa: PLR0913  it is told as much
    name: str,
    cluster: str,
    control_plane: ControlPlane,
    temporal: TemporalServer,
    directory: Path,
    *,
    alias: str = "",
    entry: Callable[[], NoReturn] | None = None,
) -> OurProcess:
    """The process `name` with the RBAC of deploy/, for a cluster of that configured name.

    `alias` tells a second one of that name from the first; `entry` is how it begins, where not as usual.
    """
    kubeconfigs = {
        "detector": control_plane.detector_kubeconfig,
        "worker": control_plane.worker_kubeconfig,
    }
    environment = {
        "KUBECONFIG": str(kubeconfigs[name]),
        "TEMPORAL_ADDRESS": temporal.address,
        "TEMPORAL_NAMESPACE": temporal.namespace,
        "TEMPORAL_CONFIG_FILE": os.devnull,
        "PARAMEDIC_CLUSTER": cluster,
        "PARAMEDIC_IDENTITY": f"{alias or name}-of-the-tests",
        "PARAMEDIC_EVIDENCE_LIMIT": "1",
    }
    return OurProcess(name, environment, directory / f"{alias or name}.log", entry)
