"""The HTTP session to one API server: how sockets notice that the other end is gone."""

import socket
import ssl

import aiohttp

# A watch may be silent for minutes; the kernel finds out whether the peer still lives.
_KEEPALIVE_IDLE_SECONDS = 10
_KEEPALIVE_INTERVAL_SECONDS = 10
_USER_TIMEOUT_MILLISECONDS = 30_000

_READ_BUFFER_BYTES = 256 * 1024

_Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]


def open_session(tls: ssl.SSLContext) -> aiohttp.ClientSession:
    """Return a session without a limit of connections: each watch keeps one, and must not starve requests."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls, socket_factory=_keepalive_socket),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER_BYTES,
    )


def _keepalive_socket(address: _Address) -> socket.socket:
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_SECONDS),
        ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_SECONDS),
        ("TCP_USER_TIMEOUT", _USER_TIMEOUT_MILLISECONDS),
    ):
        if hasattr(socket, name):  # Linux has them all, a developer's laptop may not
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
