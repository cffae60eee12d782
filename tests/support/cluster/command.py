"""Command: runs `paramedic` as a person does, in a process of its own (tests/support/cluster/forked.py)."""

import asyncio
import os
import pty
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.cluster.forked import PATIENCE_SECONDS, Ran, fork, run

PARAMEDIC = Path(sys.executable).with_name("paramedic")


class Command:
    def __init__(self, environment: Mapping[str, str]) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}
        self._environment = kept | {"USER": "ada"} | dict(environment)

    async def __call__(self, *arguments: str, **environment: str) -> Ran:
        return await run("paramedic", *arguments, environment=self._environment | environment)

    async def in_terminal(self, *arguments: str, columns: int) -> str:
        """The output on a terminal with this number of columns."""
        ours, its = pty.openpty()
        size = {"COLUMNS": str(columns), "LINES": "50", "TERM": "xterm", "NO_COLOR": "1"}
        environment = self._environment | size
        with tempfile.TemporaryFile() as err:
            process = fork("paramedic", arguments, environment, out=its, err=err.fileno())
        os.close(its)
        async with asyncio.timeout(PATIENCE_SECONDS):
            drawn = await asyncio.to_thread(drain, ours)
            await process.wait()
        os.close(ours)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn.decode())


async def until_drawn(terminal: int, words: str) -> None:
    """Read the terminal until the words have appeared on it."""
    drawn = ""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while words not in drawn:
            drawn += (await asyncio.to_thread(os.read, terminal, 65536)).decode(errors="replace")


def drain(terminal: int) -> bytes:
    """All that is drawn until the last process that draws has ended: a full terminal would block it."""
    drawn = b""
    with suppress(OSError):  # Linux reports with this error that the other end is closed
        while chunk := os.read(terminal, 65536):
            drawn += chunk
    return drawn
