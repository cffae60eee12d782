"""Supervises the programs of one `paramedic dev`: started in order, restarted, ended in reverse order.

A dead child is reported with the last line of its log, and restarted, with back-off if it keeps dying. Lines
of earlier children are not reported.
"""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from devcluster import polling
from devcluster.bound import bind
from devcluster.errors import HopelessError
from devcluster.progress import print_progress
from objects.backoff import Backoff

ENOUGH_BYTES = 8192
RESTARTS = Backoff(timedelta(seconds=0.5), timedelta(seconds=15))
STEADY = timedelta(seconds=10)
"""A death after this time counts as the first again."""
HOPELESS_DEATHS = 3
"""After this many deaths in a row a program is considered unable to start."""
PATIENCE = timedelta(seconds=10)
"""The time for a child to end by itself before it is killed."""
COLLECT_RARELY = {"GOGC": "400"}
"""For servers in Go: a tenth less CPU time on a shared machine, for 130 MB more memory."""


class LastWords:
    """The last line written to `log` from now on, without lines of earlier runs."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._began = log.stat().st_size if log.exists() else 0

    def read(self) -> str:
        if not self._log.exists():
            return "nothing"
        with self._log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._began, end - ENOUGH_BYTES))
            lines = log.read().decode(errors="replace").split("\n")
        filled = [line.strip() for line in lines if line.strip()]
        return f"'{filled[-1]}'" if filled else "nothing"


@dataclass(frozen=True)
class Program:
    """A program: its name, command, additional environment, and log file."""

    name: str
    command: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class ProgramSupervisor:
    """One child process and its successors, with a count of deaths in a row."""

    def __init__(self, program: Program, changed: Callable[[], None]) -> None:
        self.despair: str | None = None
        """Why the program is considered unable to run, in one sentence."""
        self._program = program
        self._changed = changed
        self._stopping = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The pid of the present process; None between two of them."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start the program, and restart it until `stop`."""
        last_words = LastWords(self._program.log)
        first = await self._spawn()
        self._task = asyncio.create_task(self._keep(first, last_words), name=f"keep {self._program.name}")

    async def stop(self) -> None:
        """End the program with SIGTERM, then SIGKILL. Returns when it is gone."""
        self._stopping.set()
        self._signal(signal.SIGTERM)
        if self._task:
            _, late = await asyncio.wait([self._task], timeout=PATIENCE.total_seconds())
            if late:
                self._signal(signal.SIGKILL)
            await self._task

    async def _keep(self, process: asyncio.subprocess.Process, last_words: LastWords) -> None:
        name, log, deaths = self._program.name, self._program.log, 0
        while True:
            began = time.monotonic()
            status = await process.wait()
            self._signal(signal.SIGKILL)  # children of the dead process must not outlive it
            self._process = None
            how = (
                f"was ended by {signal.Signals(-status).name}"
                if status < 0
                else f"ended with status {status}"
            )
            deaths = 1 if time.monotonic() - began > STEADY.total_seconds() else deaths + 1
            said = f"{name} {how}, {deaths} times in a row, and said {last_words.read()}: see {log}"
            self.despair = said if deaths >= HOPELESS_DEATHS else None
            if self._stopping.is_set():
                return

            delay = RESTARTS.limit(deaths).total_seconds()
            print_progress(f"{name} (pid {process.pid}) {how}; starting it again in {delay:g} s, see {log}")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay)
                return
            process = await self._spawn()
            if self._stopping.is_set():
                self._signal(signal.SIGTERM)
            self._changed()

    async def _spawn(self) -> asyncio.subprocess.Process:
        self._program.log.parent.mkdir(parents=True, exist_ok=True)
        with self._program.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *bind(self._program.command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**inherited(), **self._program.environment},
                start_new_session=True,  # Ctrl-C reaches only us; we end our children in order
            )
        return self._process

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):  # it has ended already
                os.killpg(self._process.pid, number)


def inherited() -> dict[str, str]:
    """Our environment without the user's settings for other clusters and Temporal servers."""
    foreign = ("KUBE", "PARAMEDIC_", "TEMPORAL_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


class Supervisor:
    """Starts and restarts programs, and ends all of them at the end of its `async with` block.

    `changed` is called each time a program runs under a new pid.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._changed = changed
        self._supervised: dict[str, ProgramSupervisor] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for name in reversed(list(self._supervised)):
            await self.stop(name)

    @property
    def pids(self) -> Mapping[str, int]:
        return {name: program.pid for name, program in self._supervised.items() if program.pid is not None}

    async def start(self, program: Program) -> None:
        supervised = self._supervised[program.name] = ProgramSupervisor(program, self._changed)
        await supervised.start()

    def require_hope(self) -> None:
        """Raise HopelessError if a program died too often in a row to wait for it."""
        for supervised in self._supervised.values():
            if supervised.despair:
                raise HopelessError(supervised.despair)

    async def until(self, true: Callable[[], Awaitable[bool]], *, within: timedelta, otherwise: str) -> None:
        """Wait as `polling.until`, but fail early if a program cannot run.

        Raises NotReadyError and HopelessError.
        """

        async def hoped_for() -> bool:
            self.require_hope()
            return await true()

        await polling.until(hoped_for, within=within, otherwise=otherwise)

    async def stop(self, name: str) -> None:
        await self._supervised.pop(name).stop()
