"""A proxy is asked with its user name and password, and no error tells them."""

import asyncio
import traceback
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from kubernetes.aio.client import Configuration

from kube.configuration import use_proxy, without_retries
from kube.errors import Unreachable
from kube.transport import Transport

AUTHORIZATION = f"Proxy-Authorization: Basic {b64encode(b'user:s3:cret').decode()}"
SECRETS = ("s3:cret", "s3%3Acret", b64encode(b"user:s3:cret").decode())


async def _nothing(_: Configuration) -> None: ...


class Proxy:
    """Answers each request in the same way, and remembers it."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.asked = ""
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(self._answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def proxy_that_answers(answer: bytes) -> AsyncIterator[Proxy]:
    proxy = Proxy(answer)
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        proxy.port = server.sockets[0].getsockname()[1]
        yield proxy


def transport_by(monkeypatch: pytest.MonkeyPatch, server: str, proxy: str) -> Transport:
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("NO_PROXY", "elsewhere")
    configuration = without_retries()
    configuration.host = server
    use_proxy(configuration)
    return Transport(configuration, _nothing)


@pytest.mark.parametrize(
    ("server", "line"),
    [
        ("https://api.invalid:6443", "CONNECT api.invalid:6443 HTTP/1.1"),
        ("http://api.invalid:8080", "GET http://api.invalid:8080/x HTTP/1.1"),
    ],
)
async def test_proxy_gets_our_credentials_and_its_refusal_does_not_show_the_password(
    monkeypatch: pytest.MonkeyPatch, server: str, line: str
) -> None:
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    async with proxy_that_answers(refusal) as proxy:
        url = f"http://user:s3%3Acret@127.0.0.1:{proxy.port}"
        async with transport_by(monkeypatch, server, url) as transport:
            with pytest.raises(Exception, match="407") as caught:
                await transport.request("GET", "/x")
    first, *headers = proxy.asked.splitlines()
    assert first == line
    assert AUTHORIZATION in headers
    told = "".join(traceback.format_exception(caught.value))
    assert not [secret for secret in SECRETS if secret in told]


@pytest.mark.parametrize(
    ("no_proxy", "server", "is_asked_by_proxy"),
    [
        ("", "https://localhost:6443", False),
        ("", "https://Cluster.localhost.:6443", False),
        ("", "https://[::1]:6443", False),
        ("", "https://localhost.example.com:6443", True),
        (".svc,172.30.0.0/16", "https://172.30.0.1:443", False),
        (".svc, 172.30.0.0/16 ", "https://172.30.0.1:443", False),
        (".svc,172.30.0.0/16", "https://172.31.0.1:443", True),
        ("172.30.0.1", "https://172.30.0.1:443", False),
        ("172.30.0.1/16", "https://172.30.9.9:443", False),
        ("fd00::/8", "https://[fd02::1]:443", False),
        ("fd00::/8", "https://172.30.0.1:443", True),
        ("172.30.0.0/16", "https://api.example.com:6443", True),
        (".example.com,10.0.0.0/99", "https://api.example.com:6443", False),
        (".example.org,10.0.0.0/99,,", "https://10.0.0.1:6443", True),
        ("", "https://127.0.0.1:6443", False),
        ("", "https://10.0.0.1:6443", True),
    ],
)
def test_names_addresses_and_networks_of_no_proxy_are_asked_without_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
    no_proxy: str,
    server: str,
    is_asked_by_proxy: bool,  # noqa: FBT001  a column of the table
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    configuration = without_retries()
    configuration.host = server
    use_proxy(configuration)
    assert configuration.proxy == ("http://proxy:3128" if is_asked_by_proxy else None)


@pytest.mark.parametrize(
    "place",
    ["http://user:s3%3Acret@127.0.0.1:1", "user:s3%3Acret@127.0.0.1:1", "http://user:s3%3Acret@[:1"],
    ids=["not there", "no scheme", "no host"],
)
async def test_proxy_that_cannot_be_asked_does_not_tell_the_password(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    async with transport_by(monkeypatch, "https://api.invalid:6443", place) as transport:
        with pytest.raises(Unreachable) as caught:
            await transport.request("GET", "/x")
    told = "".join(traceback.format_exception(caught.value))
    assert not [secret for secret in SECRETS if secret in told]
