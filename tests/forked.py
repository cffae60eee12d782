"""Forked: processes of ours that begin as copies of one which has imported everything.

To import what a process of ours needs costs more than most tests of one do. So each is forked from the fork
server of `multiprocessing`, which has no threads and talks to nobody. A copy has its own pid, environment,
arguments and streams, can be killed and frozen like any other, and ends with its parent. How a process begins
from nothing is shown by the tests that start one as a person does.
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
    """What a program answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


class Inherited(Protocol):
    """How `multiprocessing` hands a file descriptor over."""

    def detach(self) -> int: ...


class Forked:
    """A process that runs; as asyncio's, as far as tests use that."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Less than 0 where a signal ended it; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    async def wait(self) -> int:
        """How it ended, once it has."""
        await asyncio.to_thread(wait, [self._process.sentinel])
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def fork(  # noqa: PLR0913  it is told as much
    program: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    out: int,
    err: int,
    entry: Callable[[], NoReturn] | None = None,
) -> Forked:
    """Run a program of ours with these arguments, just this environment, and descriptors to write to.

    `entry` is how it begins, where not as usual: a function of a module.
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
    """Run a program of ours to its end; for `entry` see `fork`."""
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
    """A file descriptor on its way; it arrives as a number."""

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
    """The copy becomes the process."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ.clear()
    os.environ.update(environment)
    for source, target in ((out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    # As an interpreter opens them; they stay open until the process ends.
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = [program, *arguments]
    begin()
