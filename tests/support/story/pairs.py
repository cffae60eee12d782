"""Detector and worker that run through many tests, until a test needs other settings.

Starting two processes takes as long as most scenarios. Two pairs at the same time would both act on all
checks.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from tests.support.cluster.installations import forget_installations
from tests.support.cluster.processes import our_process
from tests.support.story.paramedic import Paramedic
from tests.support.story.policies import put_policy


class Pairs:
    def __init__(
        self,
        control_plane: ControlPlane,
        temporal: TemporalServer,
        directory: Path,
        detector_entry: Callable[[], NoReturn] | None = None,
    ) -> None:
        self._control_plane = control_plane
        self._temporal = temporal
        self._directory = directory
        self._entries = {"detector": detector_entry, "worker": None}
        self._settings: Mapping[str, str] = {}
        self._running: Paramedic | None = None

    async def get(self, settings: Mapping[str, str], policy: str) -> Paramedic:
        """Both processes, ready, with these settings and this policy; stopped processes are started again."""
        if self._running is None or settings != self._settings:
            await self.stop()
            self._settings, self._running = settings, self._made(settings)
        await put_policy(self._control_plane, policy)
        await self._running.start()
        return self._running

    async def stop(self) -> None:
        if self._running is not None:
            await asyncio.gather(self._running.detector.stop(), self._running.worker.stop())
            self._running = None
            await put_policy(self._control_plane, "")
            await forget_installations(self._control_plane)

    def _made(self, settings: Mapping[str, str]) -> Paramedic:
        name = f"c{uuid.uuid4().hex[:6]}"
        directory = self._directory / name
        directory.mkdir()
        detector, worker = (
            our_process(each, name, self._control_plane, self._temporal, directory, entry=entry)
            for each, entry in self._entries.items()
        )
        for process in (detector, worker):
            process.environment.update(settings)
        return Paramedic(detector, worker)
