"""GrpcServer: a server that answers each call of a Temporal client with one status, over plain HTTP/2."""

import asyncio
import struct
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self

_DATA, _HEADERS, _SETTINGS, _PING = 0, 1, 4, 6
_END_STREAM = _ACK = 1
_END_HEADERS = 4
_PREFACE = 24  # bytes
_SHORT = 127  # a longer string needs a longer prefix
OK = (("grpc-status", "0"),)
Headers = Iterable[tuple[str, str]]


def status(code: int, message: str = "") -> Headers:
    """The trailers of an answer with this gRPC status."""
    return (("grpc-status", str(code)), *([("grpc-message", message)] if message else []))


class GrpcServer:
    """Answers each call with `answer`; `OK` goes with the message `body`."""

    def __init__(self, answer: Headers = OK, body: bytes = b"") -> None:
        self.answer, self.body = answer, body
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await reader.readexactly(_PREFACE)
            writer.write(_frame(_SETTINGS, 0, 0))
            while True:
                head = await reader.readexactly(9)
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
                if kind in {_SETTINGS, _PING} and not flags & _ACK:
                    writer.write(_frame(kind, _ACK, 0, payload if kind == _PING else b""))
                if kind in {_DATA, _HEADERS} and flags & _END_STREAM:
                    writer.write(self._answered(stream))
        writer.close()

    def _answered(self, stream: int) -> bytes:
        begin = (
            (":status", "200"),
            ("content-type", "application/grpc"),
        )
        if self.answer != OK:
            return _frame(_HEADERS, _END_HEADERS | _END_STREAM, stream, _packed((*begin, *self.answer)))
        message = struct.pack(">BI", 0, len(self.body)) + self.body
        return (
            _frame(_HEADERS, _END_HEADERS, stream, _packed(begin))
            + _frame(_DATA, 0, stream, message)
            + _frame(_HEADERS, _END_HEADERS | _END_STREAM, stream, _packed(OK))
        )


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _packed(headers: Headers) -> bytes:  # without compression
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in headers)


def _text(text: str) -> bytes:
    encoded = text.encode()
    assert len(encoded) < _SHORT, "write a shorter text"
    return bytes([len(encoded)]) + encoded
