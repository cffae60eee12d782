"""The HTTP session to one API server: detects dead peers, and follows no redirects.

API servers do not redirect. Following a redirect would let a hostile server make us call arbitrary URLs
(SSRF). User name and password of a proxy are sent in a header, because errors quote the URL.
"""

import socket
import ssl
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
from aiohttp import hdrs

# A watch may be silent for minutes; the kernel detects a dead peer.
_KEEPALIVE_IDLE_SECONDS = 10
_KEEPALIVE_INTERVAL_SECONDS = 10
_USER_TIMEOUT_MILLISECONDS = 30_000

_READ_BUFFER_BYTES = 256 * 1024

_Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]


class Session:
    """The part of a session that the library uses; a redirect is an ordinary answer, and is not followed."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._session = _session(tls)

    @property
    def closed(self) -> bool:
        """True if no further request is possible."""
        return self._session.closed

    async def request(self, **arguments: Any) -> aiohttp.ClientResponse:  # noqa: ANN401  as in the library
        """Send the request once, without following a redirect."""
        proxy = arguments.get("proxy")
        by = _by_proxy(proxy, arguments) if proxy else arguments
        if self.closed:  # the library would raise a RuntimeError
            raise aiohttp.ClientConnectionError("the connection is closed")
        return await self._session.request(**by, allow_redirects=False)

    async def reconnect(self, tls: ssl.SSLContext) -> None:
        """Use other certificates from now on; requests on the earlier connections fail."""
        replaced, self._session = self._session, _session(tls)
        await replaced.close()

    async def close(self) -> None:
        await self._session.close()


def _session(tls: ssl.SSLContext) -> aiohttp.ClientSession:
    # Without a limit of connections: each watch keeps one, and must not block requests.
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls, socket_factory=_keepalive_socket),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER_BYTES,
    )


def _by_proxy(proxy: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The request with the proxy's credentials in a header instead of its URL."""
    try:
        url = urlsplit(proxy)
        is_url = url.scheme in ("http", "https") and bool(url.hostname)
    except ValueError:
        is_url = False
    if not is_url:
        raise aiohttp.ClientError("the proxy is no URL that begins with http:// or https://")
    credentials, _, place = url.netloc.rpartition("@")
    by = arguments | {"proxy": url._replace(netloc=place).geturl()}
    if not credentials:
        return by
    user, password = unquote(url.username or ""), unquote(url.password or "")
    authorization = {hdrs.PROXY_AUTHORIZATION: aiohttp.encode_basic_auth(user, password)}
    if str(arguments["url"]).startswith("https://"):
        return by | {"proxy_headers": authorization}
    # Without TLS there is no CONNECT request.
    return by | {"headers": {**arguments["headers"], **authorization}}


def _keepalive_socket(address: _Address) -> socket.socket:
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_SECONDS),
        ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_SECONDS),
        ("TCP_USER_TIMEOUT", _USER_TIMEOUT_MILLISECONDS),
    ):
        if hasattr(socket, name):  # Linux has all of them, other systems may not
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
