"""The `paramedic dev` under the demo: a process of its own, which ends with ours however ours ends."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from devcluster.bound import bind
from devcluster.demo import dev_description
from devcluster.demo.dev_description import DevDescription
from devcluster.demo.errors import DemoFailedError
from devcluster.demo.watching import seen

PATIENCE = timedelta(seconds=40)
"""It ends its own children one after the other."""


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
