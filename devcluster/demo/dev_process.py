"""The `paramedic dev` under the demo: a process of its own, which ends with ours however ours ends.

The demo may end before its story does: by a signal, or because nobody reads on.
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from devcluster.bound import bind
from devcluster.demo import dev_description
from devcluster.demo.dev_description import DevDescription
from devcluster.demo.errors import DemoFailedError
from devcluster.demo.incident import seen

INTERRUPTED = 130
UNHEARD = 128 + signal.SIGPIPE
PATIENCE = timedelta(seconds=40)
"""It ends its own children one after the other."""


class Ending:
    """Told to end, or not yet; the first reason counts."""

    def __init__(self) -> None:
        """Nobody has said anything."""
        self._told = asyncio.Event()
        self.code = 0
        """Exit code of the process, once it is told."""

    def listen_to_signals(self) -> None:
        """Let SIGINT and SIGTERM tell it; on the main thread only."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.tell, INTERRUPTED)

    def tell(self, code: int) -> None:
        """Say that it is to end, and with which exit code."""
        if not self._told.is_set():
            self.code = code
            self._told.set()

    async def told(self) -> None:
        """Return when it is told."""
        await self._told.wait()


class PipeConsole(Console):
    """A console whose reader may go away, as in `paramedic demo | head`; nothing is written from then on."""

    def __init__(self, ending: Ending) -> None:
        """Write to standard output."""
        super().__init__(highlight=False)
        self._ending = ending

    def on_broken_pipe(self) -> None:
        """Tell the demo to end, where rich would leave the process in the middle of it."""
        self.quiet = True
        self._ending.tell(UNHEARD)


class DevProcess:
    """A running `paramedic dev`."""

    def __init__(self, process: asyncio.subprocess.Process, description_file: Path) -> None:
        """Watch `process`, which writes `description_file` when it is ready."""
        self._process = process
        self._file = description_file
        self._began = time.time()

    async def ready(self) -> DevDescription:
        """Wait until it is ready; how long that takes depends on what has to be built first."""
        return await seen(self._described)

    def describe(self) -> DevDescription | None:
        """Read what runs now, under which pids."""
        return dev_description.read(self._file, since=self._began)

    async def _described(self) -> DevDescription | None:
        return self.describe()

    async def death(self) -> None:
        """Wait until it ends by itself, which it should not; raises DemoFailedError then."""
        status = await self._process.wait()
        raise DemoFailedError(f"paramedic dev ended with status {status}.")


@asynccontextmanager
async def dev_process(
    directory: Path, arguments: Sequence[str], hear: Callable[[str], None]
) -> AsyncIterator[DevProcess]:
    """Run `paramedic dev` on `directory` while the block runs; `hear` gets each line that it says."""
    process = await _spawn(directory, arguments)
    listening = asyncio.create_task(_listen(process, hear))
    try:
        yield DevProcess(process, directory / "dev.json")
    finally:
        await _end(process)
        await listening


async def _spawn(directory: Path, arguments: Sequence[str]) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "cli.main", "dev", "--dir", str(directory), *arguments)
    return await asyncio.create_subprocess_exec(
        *bind(command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C in the terminal is for us; we end it in order
    )


async def _listen(process: asyncio.subprocess.Process, hear: Callable[[str], None]) -> None:
    assert process.stdout is not None  # it is a pipe
    async for line in process.stdout:
        hear(line.decode(errors="replace").rstrip())


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), PATIENCE.total_seconds())
    except TimeoutError:
        process.kill()
        await process.wait()
