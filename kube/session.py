"""The HTTP session to one API server: how sockets notice that the other end is gone, and that it is the end.

An API server redirects nobody. Who followed one that does would ask, from where we are, whatever it names.
"""

import socket
import ssl
from typing import Any

import aiohttp

# A watch may be silent for minutes; the kernel finds out whether the peer still lives.
_KEEPALIVE_IDLE_SECONDS = 10
_KEEPALIVE_INTERVAL_SECONDS = 10
_USER_TIMEOUT_MILLISECONDS = 30_000

_READ_BUFFER_BYTES = 256 * 1024

_Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]


class Session:
    """What the library needs of a session; a redirect is an answer like any other, and not followed."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        # Without a limit of connections: each watch keeps one, and must not starve requests.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls, socket_factory=_keepalive_socket),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BUFFER_BYTES,
        )

    @property
    def closed(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._session.closed

    async def request(self, **asked: Any) -> aiohttp.ClientResponse:  # noqa: ANN401  as the library has it
        """Send it, to where it says and nowhere else."""
        return await self._session.request(**asked, allow_redirects=False)

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


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
