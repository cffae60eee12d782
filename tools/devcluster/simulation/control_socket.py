"""The control socket: JSON lines over a unix socket, several on one connection, answered in order.

PowerSwitch is its client. The module also parses numbers in the arguments of the simulations.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from devcluster.errors import BadRequestError, ControlPathError, ControlUnavailableError

CONTROL_SOCKET = "kubelets.sock"
"""The name of the control socket in the directory of a devcluster."""
LONGEST_ANSWER_BYTES = 64 * 1024**2
"""Room for a list of all machines in one line, at a hundred bytes each."""

LONGEST_LINE_SECONDS: float = 2
"""The time from the first byte of a request to its end."""


def count(text: str) -> int:
    """Parse a number of nodes; 0 is allowed, because nodes can be added later."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, got {text!r}")
    return int(text)


def seconds(text: str) -> timedelta:
    """Parse a positive duration in seconds, for the arguments of a program."""
    try:
        period = timedelta(seconds=float(text))
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"must be seconds, got {text!r}") from error
    if period <= timedelta():
        raise argparse.ArgumentTypeError(f"must be above 0, got {text!r}")
    return period


Answer = dict[str, Any]
Handler = Callable[[Any], Awaitable[Answer]]


@asynccontextmanager
async def serve(path: Path, handle: Handler) -> AsyncIterator[None]:
    """Answer requests at `path` while the block runs.

    `handle` gets decoded JSON and may raise BadRequestError. The socket file of a killed process is replaced.
    Raises ControlPathError.
    """

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError):  # a client may leave before its answer
            await _converse(reader, writer, handle)

    try:
        server = await asyncio.start_unix_server(converse, path)
    except OSError as error:
        raise ControlPathError(f"cannot open the control socket {path}: {error}") from error
    try:
        yield
    finally:
        server.close()
        _remove(path)


async def send_request(path: Path, request: dict[str, Any]) -> Answer:
    """Send one request and wait for its answer, without a time limit.

    Raises ControlUnavailableError without an answer, and BadRequestError if the answer is an error.
    """
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_ANSWER_BYTES)
    except OSError as error:
        raise ControlUnavailableError(f"no process answers on the control socket {path}: {error}") from error
    try:
        writer.write(_line(request))
        await writer.drain()
        answer = await reader.readline()
    except OSError as error:
        raise ControlUnavailableError(f"the connection to {path} broke: {error}") from error
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return _understood(answer, path)


async def _converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handler) -> None:
    try:
        while line := await _next_line(reader):
            writer.write(_line(await _answer(line, handle)))
            await writer.drain()
    except BadRequestError as error:
        writer.write(_line({"error": str(error)}))
        await writer.drain()


async def _next_line(reader: asyncio.StreamReader) -> bytes:
    """The next line, after any time; raises BadRequestError if a line has begun and does not end."""
    first = await reader.read(1)
    if first in (b"", b"\n"):
        return first
    try:
        async with asyncio.timeout(LONGEST_LINE_SECONDS):
            return first + await reader.readline()
    except TimeoutError as error:
        late = f"request: must end with a newline within {LONGEST_LINE_SECONDS} s"
        raise BadRequestError(late) from error
    except ValueError:  # the line exceeds the buffer, so the next lines cannot be trusted
        return b""


async def _answer(line: bytes, handle: Handler) -> Answer:
    try:
        request = json.loads(line)
    except ValueError:
        return {"error": f"request: must be one line of JSON, got {line.decode(errors='replace').strip()!r}"}
    try:
        return await handle(request)
    except BadRequestError as error:
        return {"error": str(error)}


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _understood(answer: bytes, path: Path) -> Answer:
    if not answer.endswith(b"\n"):
        raise ControlUnavailableError(f"{path} closed the connection before it answered")
    decoded: Answer = json.loads(answer)
    if "error" in decoded:
        raise BadRequestError(decoded["error"])
    return decoded


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


@dataclass(frozen=True)
class PowerSwitch:
    """Switches simulated machines on and off; every method raises SimulationError."""

    control: Path

    async def boot_ids(self) -> Mapping[str, str]:
        """The present boot ID of each machine, by the name of its node."""
        answer = await send_request(self.control, {"list": True})
        return {node["name"]: node["boot_id"] for node in answer["nodes"]}

    async def add(self, node: str) -> None:
        """Add a machine whose Node is called `node`; without effect if it exists."""
        await send_request(self.control, {"add": node})

    async def remove(self, node: str) -> None:
        """Remove an added machine; without effect if it is gone."""
        await send_request(self.control, {"remove": node})

    async def power_cycle(self, node: str, power_off: timedelta) -> None:
        """Switch the machine of that node off and on; returns once it runs again."""
        await send_request(
            self.control, {"power_cycle": node, "power_off_seconds": power_off.total_seconds()}
        )
