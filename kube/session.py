"""The HTTP session to one API server: how sockets notice that the other end is gone, and that it is the end.

An API server redirects nobody. Who followed one that does would ask, from where we are, whatever it names.

User name and password of a proxy go beside its URL, which errors quote.
"""

import socket
import ssl
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
from aiohttp import hdrs

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
        proxy = asked.get("proxy")
        by = _by_proxy(proxy, asked) if proxy else asked
        if self.closed:  # by then the library raises a RuntimeError
            raise aiohttp.ClientConnectionError("the connection is closed")
        return await self._session.request(**by, allow_redirects=False)

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


def _by_proxy(proxy: str, asked: dict[str, Any]) -> dict[str, Any]:
    """What is asked, by the proxy of that URL, in which nothing is secret any more."""
    try:
        url = urlsplit(proxy)
        is_url = url.scheme in ("http", "https") and bool(url.hostname)
    except ValueError:
        is_url = False
    if not is_url:
        raise aiohttp.ClientError("the proxy is no URL that begins with http:// or https://")
    credentials, _, place = url.netloc.rpartition("@")
    by = asked | {"proxy": url._replace(netloc=place).geturl()}
    if not credentials:
        return by
    user, password = unquote(url.username or ""), unquote(url.password or "")
    authorization = {hdrs.PROXY_AUTHORIZATION: aiohttp.encode_basic_auth(user, password)}
    if str(asked["url"]).startswith("https://"):
        return by | {"proxy_headers": authorization}
    return by | {"headers": {**asked["headers"], **authorization}}  # such a proxy has no request of its own


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
