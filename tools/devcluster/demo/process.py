"""Runs the servers as a child process of the demo, mostly `paramedic dev`; it never outlives the demo.

The demo may end early: by a signal, or because its output is no longer read.
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Console

from devcluster.bound import bind
from devcluster.errors import DemoFailedError

INTERRUPTED = 130
UNHEARD = 128 + signal.SIGPIPE
PATIENCE = timedelta(seconds=40)
"""Long, because the servers are ended one after the other."""


class Ending:
    """Records that the demo has to end, and with which exit code; the first reason counts."""

    def __init__(self) -> None:
        self._requested = asyncio.Event()
        self._code = 0

    def listen_to_signals(self) -> None:
        """End the demo on SIGINT and SIGTERM; main thread only."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.request, INTERRUPTED)

    def request(self, code: int) -> None:
        """Request the end, with this exit code of the process."""
        if not self._requested.is_set():
            self._code = code
            self._requested.set()

    async def unless_requested(self, work: Coroutine[None, None, int]) -> int:
        """Do the work, and cancel it if the end is requested; its result, or the code of that request."""
        working, ends = asyncio.create_task(work), asyncio.create_task(self._requested.wait())
        try:
            await asyncio.wait((working, ends), return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.cancel()  # without effect on work that is done; its clean-up still runs
            ends.cancel()
        try:
            return await working
        except asyncio.CancelledError:
            return self._code


class PipeConsole(Console):
    """A console that goes quiet when its reader has gone, as in `paramedic demo | head`."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(highlight=False)
        self._ending = ending

    def on_broken_pipe(self) -> None:
        """Request the end of the demo; rich would exit the process at once."""
        self.quiet = True
        self._ending.request(UNHEARD)


class DevDescription(BaseModel):
    """The addresses and files of a running devcluster: what the demo needs of its DIR/dev.json."""

    model_config = ConfigDict(frozen=True)

    kubeconfig: Path
    temporal_address: str
    temporal_namespace: str
    temporal_ui: str
    cluster: str
    pids: dict[str, int]
    workload_kubeconfig: Path | None = None


def read_description(file: Path, since: float = 0) -> DevDescription | None:
    """Read the description; None unless it was written after `since` (seconds since 1970).

    An older file belongs to a killed process, or to another running one.
    """
    try:
        if file.stat().st_mtime < since:
            return None
        return DevDescription.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


class DevProcess:
    """The running servers, and the file that describes them."""

    def __init__(self, process: asyncio.subprocess.Process, description_file: Path) -> None:
        """`process` writes `description_file` when it is ready."""
        self._process = process
        self._file = description_file
        self._began = time.time()

    async def description(self) -> DevDescription | None:
        """The present description, with current pids; None until it is ready."""
        return read_description(self._file, since=self._began)

    async def other_worker(self, than: int = 0) -> int | None:
        """The pid of the worker, once one runs that is not `than`."""
        now = await self.description()
        pid = now.pids.get("worker") if now else None
        return pid if pid != than else None

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
    process = await asyncio.create_subprocess_exec(
        *bind((sys.executable, "-m", *module, "--dir", str(directory))),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches only us; we end the child in order
    )

    async def listen() -> None:
        assert process.stdout is not None  # it is a pipe
        async for line in process.stdout:
            hear(line.decode(errors="replace").rstrip())

    listening = asyncio.create_task(listen())
    try:
        yield DevProcess(process, directory / "dev.json")
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), PATIENCE.total_seconds())
        except TimeoutError:
            process.kill()
            await process.wait()
        await listening
