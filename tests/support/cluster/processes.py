"""Starts, kills and stops detector and worker as real processes."""

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
from tests.support.api.ports import free_port
from tests.support.cluster.forked import Forked, fork
from tests.support.values.metric_samples import Series, samples_in

PATIENCE = timedelta(seconds=60)


class OurProcess:
    """`python -m detector` or `python -m worker` for one cluster name."""

    def __init__(
        self, name: str, environment: dict[str, str], log: Path, entry: Callable[[], NoReturn] | None = None
    ) -> None:
        self.name = name
        self._entry = entry
        self.environment = environment
        self.log = log
        self._process: Forked | None = None

    async def start(self) -> None:
        """Start the process without waiting until it is ready."""
        self.environment["PARAMEDIC_READY_ADDRESS"] = f"127.0.0.1:{free_port()}"
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("TEMPORAL_")}
        environment = inherited | self.environment
        with self.log.open("ab") as log:
            self._process = fork(
                self.name, (), environment, entry=self._entry, out=log.fileno(), err=log.fileno()
            )

    async def start_ready(self) -> None:
        await self.start()
        await self.ready()

    async def ready(self) -> None:
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
        url = f"http://{self.environment['PARAMEDIC_READY_ADDRESS']}/metrics"
        async with aiohttp.ClientSession(raise_for_status=True) as session, session.get(url) as response:
            return samples_in(await response.text())

    async def exit_code(self) -> int:
        """Wait until it exits by itself, and return its exit code."""
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await self._running.wait()

    async def kill(self) -> None:
        """Kill it with SIGKILL, as a loss of power would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Send SIGTERM and wait, as the kubelet does with a Pod."""
        await self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """Stop its threads, as on a machine that swaps or is migrated."""
        self._running.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._running.send_signal(signal.SIGCONT)

    @property
    def is_down(self) -> bool:
        """True before the start and after the test stopped it."""
        return self._process is None

    @property
    def has_died(self) -> bool:
        """True if it exited although the test did not stop it."""
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
        process.send_signal(signal.SIGCONT)  # a frozen process must exit, too
        await process.wait()


def our_process(  # noqa: PLR0913  each argument is needed
    name: str,
    cluster: str,
    control_plane: ControlPlane,
    temporal: TemporalServer,
    directory: Path,
    *,
    alias: str = "",
    entry: Callable[[], NoReturn] | None = None,
) -> OurProcess:
    """The process `name` with the RBAC of deploy/, for the cluster with that configured name.

    `alias` distinguishes a second process of that name; `entry` replaces its usual entry point.
    """
    kubeconfigs = {
        "detector": control_plane.detector_kubeconfig,
        "worker": control_plane.worker_kubeconfig,
    }
    environment = {
        "KUBECONFIG": str(kubeconfigs[name]),
        **temporal.environment,
        "TEMPORAL_CONFIG_FILE": os.devnull,
        "PARAMEDIC_CLUSTER": cluster,
        "PARAMEDIC_IDENTITY": f"{alias or name}-of-the-tests",
        "PARAMEDIC_EVIDENCE_LIMIT": "1",
    }
    return OurProcess(name, environment, directory / f"{alias or name}.log", entry)
