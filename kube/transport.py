"""HTTP to one API server: bytes there, bytes or one of our errors back. No retries, no meaning.

The library (`kubernetes.aio`) finds the server, authenticates and holds the TLS settings. The one thing
repeated here is a request answered 401, once, with credentials read anew: tokens rotate under us. Nothing is
awaited without a limit, those included.
"""

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration

from kube.answer_bounds import MOST_OF_AN_OBJECT
from kube.configuration import Load, configure, loader
from kube.errors import NotConfigured, Silent, TooLarge, Unauthorized, Unreachable
from kube.server_clock import ServerClock
from kube.session import Session
from kube.status import classify
from objects.durations import in_words

Query = Sequence[tuple[str, str]]

LOADING = timedelta(seconds=10)
"""How long it may take to read credentials that were refused anew: a program may have to be run for them."""
_CONNECTING = timedelta(seconds=10)
_OPENING = timedelta(seconds=30)  # an API server that has just started lets a watch wait for its cache
_FIRST_FAILURE = 300  # redirects are none of an API server's answers

# What the library raises when no complete answer arrives.
_BROKEN = (aiohttp.ClientError, TimeoutError, OSError)


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    query: Query
    limits: aiohttp.ClientTimeout
    most: int = MOST_OF_AN_OBJECT
    """Bytes of the answer."""
    body: object | None = None
    content_type: str = "application/json"
    accept: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def unreachable(self, error: BaseException) -> Unreachable:
        what = _words(error) or type(error).__name__
        return Unreachable(f"{self} got no complete answer: {what}", path=self.path)

    def unsent(self) -> Unreachable:
        return Unreachable(f"{self} was not sent: the connection is closed.", path=self.path)


class Transport:
    """One API server, seen with one set of credentials."""

    def __init__(
        self,
        configuration: Configuration,
        load: Load,
        user_agent: str = "paramedic",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """With `tls`, where the library could not make it of what `configuration` says."""
        self._configuration = configuration
        self._load = load
        self._loading: asyncio.Task[None] | None = None
        self._api = ApiClient(configuration)
        self._api.user_agent = user_agent
        self.server_clock = ServerClock()
        """What the answers say of the server's clock."""
        # The session that the library would make starves watches and notices dead peers after minutes.
        self._session = Session(tls or self._api.rest_client.ssl_context)
        self._api.rest_client.pool_manager = self._session  # type: ignore[assignment]  # of it, what is used
        self._under_way = 0
        """Requests that have no complete answer yet; streams do not count."""
        self._all_answered = asyncio.Event()
        self._all_answered.set()
        self._is_retired = False
        self._streams: set[aiohttp.ClientResponse] = set()

    @classmethod
    async def connect(
        cls, kubeconfig: str | None = None, context: str | None = None, *, user_agent: str = "paramedic"
    ) -> Self:
        """Read the configuration; no request is made yet.

        Looks at `kubeconfig`, else $KUBECONFIG, else ~/.kube/config, else the service account of the Pod.

        Raises NotConfigured: none of them is there, or it cannot be read.
        """
        load = loader(kubeconfig, context)
        configuration = await configure(load)
        try:
            return cls(configuration, load, user_agent)
        except OSError as error:  # of TLS too
            raise NotConfigured(
                f"The certificates for {configuration.host} cannot be used: {error}."
            ) from error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def server(self) -> str:
        """Where the API server is, for people."""
        return str(self._configuration.host)

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._is_retired or self._session.closed

    async def retire(self) -> None:
        """Refuse new requests, wait until those under way are answered, and close every connection."""
        self._is_retired = True
        await self._all_answered.wait()
        await self.close()

    async def close(self) -> None:
        """Close every connection; watches end with `Unreachable`, and so does what is asked from then on."""
        for response in self._streams:  # the session ends none that waits for more
            response.close()
        await self._api.close()  # type: ignore[no-untyped-call]  # the library has no types

    async def request(  # noqa: PLR0913  a request has these parts
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: object | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: timedelta = timedelta(seconds=10),  # noqa: ASYNC109  it includes the reading of the answer
        most: int = MOST_OF_AN_OBJECT,
    ) -> bytes:
        """Return the body of a successful answer. `timeout` is for the whole exchange.

        Raises KubernetesError: one of its subclasses, by the answer; `Unreachable` without one; `TooLarge`
        where the answer has over `most` bytes.
        """
        limits = aiohttp.ClientTimeout(
            total=timeout.total_seconds(), sock_connect=_CONNECTING.total_seconds()
        )
        asked = _Request(method, path, query, limits, most, body, content_type, accept)
        self._must_be_open(asked)
        with self._counted():
            async with await self._send(asked) as response:
                return await _read(response, asked)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Query, *, silence: timedelta, opening: timedelta = _OPENING
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a GET whose answer comes line by line, and yield its complete lines.

        `opening` limits the wait for the answer to begin, `silence` the wait for more of it. Leaving the
        context closes the connection. The iterator ends when the server ends the answer properly.

        Raises KubernetesError: on opening, by the answer; `Unreachable` also later, when the stream breaks.
        """
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECTING.total_seconds(), sock_read=silence.total_seconds()
        )
        asked = _Request("GET", path, query, limits)
        self._must_be_open(asked)
        try:
            async with asyncio.timeout(opening.total_seconds()):
                response = await self._send(asked)
        except TimeoutError as error:
            raise Unreachable(f"{asked} was not answered within {opening}.", path=path) from error
        self._streams.add(response)
        try:
            yield complete_lines(_pieces(response, asked), str(asked), path)
        finally:
            self._streams.discard(response)
            response.close()

    def _must_be_open(self, asked: _Request) -> None:
        if self.is_closed:
            raise asked.unsent()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a request as under way."""
        self._under_way += 1
        self._all_answered.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._all_answered.set()

    async def _send(self, asked: _Request) -> aiohttp.ClientResponse:
        try:
            return await self._send_once(asked)
        except Unauthorized:
            await self._load_anew()
            return await self._send_once(asked)

    async def _load_anew(self) -> None:
        """Read the credentials once for all who are refused meanwhile: each may start a program."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load_in_time())
        # One caller that is cancelled must not take it from the others.
        await asyncio.shield(self._loading)

    async def _load_in_time(self) -> None:
        try:
            async with asyncio.timeout(LOADING.total_seconds()):
                await self._load(self._configuration)
        except TimeoutError as error:
            raise NotConfigured(
                f"The credentials for {self.server} could not be read anew within {in_words(LOADING)}."
            ) from error

    async def _send_once(self, asked: _Request) -> aiohttp.ClientResponse:
        if self._session.closed:  # since the request began
            raise asked.unsent()
        sent = self.server_clock.monotonic()
        try:
            prepared = await self._api.param_serialize(
                asked.method,
                asked.path,
                query_params=list(asked.query),
                header_params={"Accept": asked.accept, "Content-Type": asked.content_type},
                body=asked.body,
                auth_settings=["BearerToken"],
            )
            answer = await self._api.call_api(*prepared, _request_timeout=asked.limits)
        except _BROKEN as error:
            raise asked.unreachable(error) from error
        response: aiohttp.ClientResponse = answer.response
        self.server_clock.note(response.headers, sent)
        if response.status < _FIRST_FAILURE:
            return response
        async with response:
            content = await _read(response, asked)
        retry_after = response.headers.get("Retry-After", "")
        raise classify(str(asked), asked.path, response.status, content, retry_after)


def _words(error: BaseException) -> str:
    """What went wrong; what a proxy answers is quoted with its URL by the library, which may tell secrets."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{error.status} {error.message}"
    return str(error)


async def _read(response: aiohttp.ClientResponse, asked: _Request) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in _pieces(response, asked):
        size += len(piece)
        if size > asked.most:
            raise TooLarge(f"{asked} was answered with over {asked.most} bytes.", path=asked.path)
        pieces.append(piece)
    return b"".join(pieces)


async def _pieces(response: aiohttp.ClientResponse, asked: _Request) -> AsyncIterable[bytes]:
    try:
        async for piece in response.content.iter_any():
            yield piece
    except aiohttp.SocketTimeoutError as error:
        raise Silent(f"{asked} was silent for too long.", path=asked.path) from error
    except (*_BROKEN, RuntimeError) as error:  # RuntimeError: a read after the connection was closed
        raise asked.unreachable(error) from error


async def complete_lines(pieces: AsyncIterable[bytes], asked: str, path: str) -> AsyncIterator[bytes]:
    """Yield the non-empty lines, without their newlines, whatever the sizes of the pieces.

    A line is complete when its newline has arrived. What is left over at the end was cut by a fault, and is
    never delivered: half an object could be a valid, different one.

    Raises Unreachable: the stream ended in the middle of a line; TooLarge: a line does not end.
    """
    begun: list[bytes] = []  # a line of several MB comes in many pieces: join once, at its end
    size = 0
    async for piece in pieces:
        first, *rest = piece.split(b"\n")
        begun.append(first)
        size = len(rest[-1]) if rest else size + len(first)
        if size > MOST_OF_AN_OBJECT:
            raise TooLarge(f"{asked} was answered with a line of over {MOST_OF_AN_OBJECT} bytes.", path=path)
        for start_of_next in rest:
            line = b"".join(begun)
            begun = [start_of_next]
            if line:
                yield line
    if any(begun):
        raise Unreachable(f"{asked} ended in the middle of a line.", path=path)
