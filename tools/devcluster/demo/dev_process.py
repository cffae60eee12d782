"""Runs the servers as a child process of the demo, mostly `paramedic dev`; it never outlives the demo.

The demo may end early: by a signal, or because its output is no longer read.
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
from devcluster.demo.incident import seen
from devcluster.errors import DemoFailedError

INTERRUPTED = 130
UNHEARD = 128 + signal.SIGPIPE
PATIENCE = timedelta(seconds=40)
"""Long, because the servers are ended one after the other."""


class Ending:
    """Records that the demo has to end, and with which exit code; the first reason counts."""

    def __init__(self) -> None:
        self._requested = asyncio.Event()
        self.code = 0
        """The exit code of the process, once an end was requested."""

    def listen_to_signals(self) -> None:
        """End the demo on SIGINT and SIGTERM; main thread only."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.request, INTERRUPTED)

    def request(self, code: int) -> None:
        """Request the end, with this exit code."""
        if not self._requested.is_set():
            self.code = code
            self._requested.set()

    async def requested(self) -> None:
        await self._requested.wait()


class PipeConsole(Console):
    """A console that goes quiet when its reader has gone, as in `paramedic demo | head`."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(highlight=False)
        self._ending = ending

    def on_broken_pipe(self) -> None:
        """Request the end of the demo; rich would exit the process at once."""
        self.quiet = True
        self._ending.request(UNHEARD)


class DevProcess:
    """The running servers, and the file that describes them."""

    def __init__(self, process: asyncio.subprocess.Process, description_file: Path) -> None:
        """`process` writes `description_file` when it is ready."""
        self._process = process
        self._file = description_file
        self._began = time.time()

    async def ready(self) -> DevDescription:
        """Wait until it is ready, without a limit: servers may have to be built first."""
        return await seen(self._described)

    def describe(self) -> DevDescription | None:
        """The present description, with current pids; None until it is ready."""
        return dev_description.read(self._file, since=self._began)

    async def _described(self) -> DevDescription | None:
        return self.describe()

    async def death(self) -> None:
        """Wait until it ends by itself; raises DemoFailedError then."""
        status = await self._process.wait()
        raise DemoFailedError(f"The servers ended with status {status}.")


@asynccontextmanager
async def dev_process(
    directory: Path, module: Sequence[str], hear: Callable[[str], None]
) -> AsyncIterator[DevProcess]:
    """Run a module with its arguments on `directory` while the block runs; `hear` gets each line of output.

    The module writes dev.json when all is ready, and ends on SIGTERM.
    """
    process = await _spawn(directory, module)
    listening = asyncio.create_task(_listen(process, hear))
    try:
        yield DevProcess(process, directory / "dev.json")
    finally:
        await _end(process)
        await listening


async def _spawn(directory: Path, module: Sequence[str]) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", *module, "--dir", str(directory))
    return await asyncio.create_subprocess_exec(
        *bind(command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches only us; we end the child in order
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
