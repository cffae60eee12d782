"""Runs our programs as forks of a process that has already imported everything.

The imports of one of our programs take longer than most of its tests. So each program is forked from the fork
server of `multiprocessing`, which has no threads and no open connections. A fork has its own pid,
environment, arguments and streams, can be killed and frozen like any other process, and ends with its parent.
Some tests start a program as a user would, and so cover the normal start.
"""

import asyncio
import ctypes
import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import reduction
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, ForkServerProcess
from types import MappingProxyType
from typing import IO, Any, NoReturn, Protocol, cast

from cli import main
from detector import detector
from devcluster.bound import PR_SET_PDEATHSIG
from runtime.process import run_process
from worker import worker

PROGRAMS: Mapping[str, Callable[[], NoReturn]] = MappingProxyType(
    {
        "detector": partial(run_process, detector.run),
        "worker": partial(run_process, worker.run),
        "paramedic": main.run,
    }
)
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


class Inherited(Protocol):
    """The part of `multiprocessing` that passes a file descriptor to a child process."""

    def detach(self) -> int: ...


class Forked:
    """A running process, with the part of asyncio's `Process` that tests use."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Negative if a signal ended the process; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    async def wait(self) -> int:
        """Wait for the process to exit, and return its exit code."""
        await asyncio.to_thread(wait, [self._process.sentinel])
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def fork(  # noqa: PLR0913  each argument is needed
    program: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    out: int,
    err: int,
    entry: Callable[[], NoReturn] | None = None,
) -> Forked:
    """Fork a program of ours with these arguments, only this environment, and descriptors to write to.

    `entry` replaces the program's usual entry point; it is a function of a module.
    """
    begins = entry or PROGRAMS[program]
    told = (program, begins, tuple(arguments), dict(environment), _Descriptor(out), _Descriptor(err))
    process = _fork_server().Process(target=_become, args=told)
    process.start()
    return Forked(process)


async def run(
    program: str,
    *arguments: str,
    environment: Mapping[str, str],
    entry: Callable[[], NoReturn] | None = None,
) -> Ran:
    """Run a program of ours until it exits; `entry` is as in `fork`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = fork(program, arguments, environment, out=out.fileno(), err=err.fileno(), entry=entry)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                code = await process.wait()
        finally:
            process.send_signal(signal.SIGKILL)
        return Ran(code, _read(out), _read(err))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@cache
def _fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


class _Descriptor:
    """Pickles a file descriptor as its number in the child process."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[[Inherited], int], tuple[Inherited]]:
        return _arrived, (cast("Inherited", reduction.DupFd(self._number)),)


def _arrived(descriptor: Inherited) -> int:
    return descriptor.detach()


def _become(  # noqa: PLR0913, PLR0917  as fork
    program: str,
    begin: Callable[[], NoReturn],
    arguments: Sequence[str],
    environment: Mapping[str, str],
    out: int,
    err: int,
) -> None:
    """Turn the forked process into the program."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ.clear()
    os.environ.update(environment)
    for source, target in ((out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    # Opened as the interpreter does; they stay open until the process ends.
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = [program, *arguments]
    begin()
