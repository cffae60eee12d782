"""TcpProxy: the way to a server, which a test can break: reset, refused, slow, silent, or cut in the middle.

It passes bytes on and understands none; with `upstream_tls` it takes the TLS off, so that the cut is certain
to go through a line and not only through a record of TLS. With `tls` clients have to speak TLS to it.
"""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import yaml

LINGER_NOT = struct.pack("ii", 1, 0)
"""SO_LINGER: closing such a socket sends RST."""
_PIECE_BYTES = 64 * 1024


class TcpProxy:
    """On loopback, or on the socket that it is given; `stop` and `start` keep the port."""

    def __init__(
        self,
        server: str,
        upstream_tls: ssl.SSLContext | None = None,
        latency: timedelta = timedelta(),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(server)
        self._upstream = (parts.hostname, parts.port)
        self._upstream_tls = upstream_tls
        self.tls = tls
        """The protocol of clients from the next `start` on."""
        self._address = ("127.0.0.1", 0)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._upstreams: set[asyncio.StreamWriter] = set()
        self._is_silent = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._cuts_next = False
        self._latency = latency.total_seconds()
        self._holds_when: tuple[Callable[[bytes], bool], asyncio.Event] | None = None
        self.accepted = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def address(self) -> str:
        return f"{self._address[0]}:{self._address[1]}"

    async def start(self, listening: socket.socket | None = None) -> None:
        """Accept connections, on the port of before."""
        listening = listening or socket.create_server(self._address)
        self._address = listening.getsockname()[:2]
        self._server = await asyncio.start_server(self._accept, sock=listening, ssl=self.tls)

    async def stop(self) -> None:
        """Refuse connections, and break off those that there are."""
        if self._server is not None:
            self._server.close()
        self.reset()
        for task in list(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    def reset(self) -> None:
        for writer in list(self._writers):
            connection = writer.get_extra_info("socket")
            if connection.fileno() == -1:  # the other side closed it, and its task has yet to notice
                continue
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
            writer.transport.abort()

    def hang_up(self) -> None:
        """Close the connections to the server for good; clients get its earlier answers and see no close."""
        self._is_silent = True
        for writer in self._upstreams:
            writer.transport.abort()

    def hold(self) -> None:
        """Pass nothing on any more, while all connections live."""
        self._flows.clear()

    def hold_when(self, is_due: Callable[[bytes], bool]) -> asyncio.Event:
        """Hold, and set the event, when such a piece of an answer has come; it is the first that is held."""
        held = asyncio.Event()
        self._holds_when = is_due, held
        return held

    def let_go(self) -> None:
        """Pass on again, and first what was held."""
        self._flows.set()

    def forsake(self) -> None:
        """Pass nothing on any more of the connections that there are; new ones are well."""
        self._flows.clear()
        self._flows = asyncio.Event()  # each connection keeps the one that was there when it was made
        self._flows.set()

    def cut_next(self) -> None:
        """Pass on half of the next answer, then break off."""
        self._cuts_next = True

    def kubeconfig(self, original: Path, directory: Path) -> Path:
        """A copy of a kubeconfig that leads through this proxy."""
        scheme = "http" if self._upstream_tls else "https"
        content = yaml.safe_load(original.read_text())
        for cluster in content["clusters"]:
            cluster["cluster"]["server"] = f"{scheme}://{self.address}"
            cluster["cluster"]["tls-server-name"] = "127.0.0.1"
        copy = directory / "through-proxy.json"
        copy.write_text(json.dumps(content))
        return copy

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._writers.add(writer)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._connect(reader, writer)
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._connections.discard(task)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        flows = self._flows
        await flows.wait()
        host, port = self._upstream
        async with _connection(host, port, self._upstream_tls) as (from_server, to_server):
            self._upstreams.add(to_server)
            pumps = [
                asyncio.create_task(self._pump(reader, to_server, flows)),
                asyncio.create_task(self._pump(from_server, writer, flows, is_answer=True)),
            ]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                if self._is_silent:
                    await asyncio.wait(pumps[1:])
            finally:
                self._upstreams.discard(to_server)
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        if self._is_silent:
            await asyncio.Event().wait()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        flows: asyncio.Event,
        *,
        is_answer: bool = False,
    ) -> None:
        while piece := await reader.read(_PIECE_BYTES):
            if is_answer:
                self._hold_if_due(piece)
            await flows.wait()
            if self._latency:
                await asyncio.sleep(self._latency)
            if is_answer and self._cuts_next:
                self._cuts_next = False
                writer.write(piece[: len(piece) // 2])
                await writer.drain()
                return
            writer.write(piece)
            await writer.drain()

    def _hold_if_due(self, piece: bytes) -> None:
        if self._holds_when is None:
            return
        is_due, held = self._holds_when
        if is_due(piece):
            self._holds_when = None
            self.hold()
            held.set()


@asynccontextmanager
async def _connection(
    host: str | None, port: int | None, tls: ssl.SSLContext | None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(host, port, ssl=tls)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
