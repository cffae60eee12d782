"""Command: runs `paramedic` as a person does, as a process of its own."""

import asyncio
import json
import os
import pty
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PARAMEDIC = Path(sys.executable).with_name("paramedic")
PATIENCE_SECONDS = 40


@dataclass(frozen=True)
class Ran:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


class Command:
    """The installed command, with an environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}
        self._environment = kept | {"USER": "ada"} | dict(environment)

    async def __call__(self, *arguments: str, **environment: str) -> Ran:
        process = await asyncio.create_subprocess_exec(
            PARAMEDIC,
            *arguments,
            env=self._environment | environment,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, err = await process.communicate()
        assert process.returncode is not None
        return Ran(process.returncode, out.decode(), err.decode())

    async def in_terminal(self, *arguments: str, columns: int) -> str:
        """What it draws on a terminal so wide."""
        ours, its = pty.openpty()
        size = {"COLUMNS": str(columns), "LINES": "50", "TERM": "xterm", "NO_COLOR": "1"}
        process = await asyncio.create_subprocess_exec(
            PARAMEDIC, *arguments, env=self._environment | size, stdin=DEVNULL, stdout=its, stderr=PIPE
        )
        os.close(its)
        async with asyncio.timeout(PATIENCE_SECONDS):
            drawn = await asyncio.to_thread(_drain, ours)
            await process.communicate()
        return drawn


def _drain(terminal: int) -> str:
    """All that is drawn until the last process that draws has ended, without colours."""
    drawn = b""
    try:
        while chunk := os.read(terminal, 65536):
            drawn += chunk
    except OSError:  # how Linux says that nobody holds the other end any more
        pass
    finally:
        os.close(terminal)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn.decode())
