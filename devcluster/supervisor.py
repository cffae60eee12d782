"""The programs of one `paramedic dev`: started in order, kept running, and ended in the opposite order.

A child that dies is reported with the last line of its log, and started again, ever more slowly if it keeps
dying. A line that an earlier child wrote is not taken for its last word.
"""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from devcluster import polling
from devcluster.bound import bind
from devcluster.errors import HopelessError
from devcluster.progress import say

ENOUGH_BYTES = 8192
FIRST_DELAY = timedelta(seconds=0.5)
LONGEST_DELAY = timedelta(seconds=15)
STEADY = timedelta(seconds=10)
"""After so long a life the next death counts as the first."""
HOPELESS_DEATHS = 3
"""After so many deaths in a row a program will not start on this machine."""
PATIENCE = timedelta(seconds=10)
"""How long a child may take to end by itself before it is killed."""
COLLECT_RARELY = {"GOGC": "400"}
"""For servers written in Go: a tenth less CPU on a machine that they share, for 130 MB more."""


class LastWords:
    """The last line that `log` gets from now on; what an earlier run left in it counts for nothing."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._began = log.stat().st_size if log.exists() else 0

    def read(self) -> str:
        """The line in quotes, or `nothing`."""
        if not self._log.exists():
            return "nothing"
        with self._log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._began, end - ENOUGH_BYTES))
            lines = log.read().decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return f"'{said[-1]}'" if said else "nothing"


@dataclass(frozen=True)
class Program:
    """What to run: a name for people, a command, additions to our environment, and where its output goes."""

    name: str
    command: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class ProgramSupervisor:
    """One child process and its successors."""

    def __init__(self, program: Program, changed: Callable[[], None]) -> None:
        self._program = program
        self._changed = changed
        self._stopping = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._deaths = 0  # in a row
        self._last_words = LastWords(program.log)
        self._despair = ""

    @property
    def despair(self) -> str:
        """Why the program cannot be expected to run, in one sentence; "" while it can."""
        return self._despair

    @property
    def pid(self) -> int | None:
        """The process that runs now; None between two of them."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start the program; from here on it is kept running until `stop`."""
        self._process = await self._spawn()
        self._task = asyncio.create_task(self._keep(), name=f"keep {self._program.name}")

    async def stop(self) -> None:
        """End the program: politely, then by force. Returns when it is gone."""
        self._stopping.set()
        self._signal(signal.SIGTERM)
        if self._task:
            _, late = await asyncio.wait([self._task], timeout=PATIENCE.total_seconds())
            if late:
                self._signal(signal.SIGKILL)
            await self._task

    async def _keep(self) -> None:
        while self._process:
            began = time.monotonic()
            status = await self._process.wait()
            self._signal(signal.SIGKILL)  # what the dead child started itself must not outlive it
            ended, self._process = self._process, None
            self._count(status, lived=timedelta(seconds=time.monotonic() - began))
            if not await self._pause(_obituary(self._program, ended.pid, status)):
                return
            self._process = await self._spawn()
            if self._stopping.is_set():
                self._signal(signal.SIGTERM)
            self._changed()

    def _count(self, status: int, lived: timedelta) -> None:
        self._deaths = 1 if lived > STEADY else self._deaths + 1
        self._despair = ""
        if self._deaths >= HOPELESS_DEATHS:
            row = f"{self._program.name} {_how(status)}, {self._deaths} times in a row"
            self._despair = f"{row}, and said {self._last_words.read()}: see {self._program.log}"

    async def _pause(self, obituary: str) -> bool:
        """Wait before the next start; False when there is to be none."""
        if self._stopping.is_set():
            return False
        delay = min(FIRST_DELAY * 2 ** min(self._deaths - 1, 10), LONGEST_DELAY)
        say(f"{obituary}; starting it again in {delay.total_seconds():g} s, see {self._program.log}")
        try:
            await asyncio.wait_for(self._stopping.wait(), delay.total_seconds())
        except TimeoutError:
            return True
        return False

    async def _spawn(self) -> asyncio.subprocess.Process:
        self._program.log.parent.mkdir(parents=True, exist_ok=True)
        with self._program.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *bind(self._program.command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**inherited(), **self._program.environment},
                start_new_session=True,  # Ctrl-C in the terminal is for us; we end our children in order
            )

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return  # it was faster


def inherited() -> dict[str, str]:
    """Our environment, without what a person has set to reach another cluster or another Temporal."""
    foreign = ("KUBE", "PARAMEDIC_", "TEMPORAL_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def _obituary(program: Program, pid: int, status: int) -> str:
    return f"{program.name} (pid {pid}) {_how(status)}"


def _how(status: int) -> str:
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def _nobody_asks() -> None:
    pass


class Supervisor:
    """Starts programs, keeps them running, and ends all of them when its `async with` block is left.

    `changed` is called each time a program runs under a new pid.
    """

    def __init__(self, changed: Callable[[], None] = _nobody_asks) -> None:
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
        """The processes that run now, by name of their program."""
        return {name: one.pid for name, one in self._supervised.items() if one.pid is not None}

    async def start(self, program: Program) -> None:
        """Start `program` and keep it running."""
        supervised = self._supervised[program.name] = ProgramSupervisor(program, self._changed)
        await supervised.start()

    def require_hope(self) -> None:
        """Raise HopelessError when a program died so often in a row that waiting is of no use."""
        for supervised in self._supervised.values():
            if supervised.despair:
                raise HopelessError(supervised.despair)

    async def until(self, true: Callable[[], Awaitable[bool]], *, within: timedelta, otherwise: str) -> None:
        """Wait for something that the programs do, as `polling.until`, but not where there is no hope.

        Raises NotReadyError and HopelessError.
        """

        async def hoped_for() -> bool:
            self.require_hope()
            return await true()

        await polling.until(hoped_for, within=within, otherwise=otherwise)

    async def stop(self, name: str) -> None:
        """End the program `name`; returns when it is gone."""
        await self._supervised.pop(name).stop()
