"""HTTP to one API server: sends and receives bytes, and raises our errors. No retries, no interpretation.

The library (`kubernetes.aio`) authenticates and configures TLS. Only a request that was answered 401 is
repeated, once, with freshly read credentials: tokens are rotated. Credentials that have expired are read
again before the next request. Every await has a limit, also those.
"""

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.client.rest import RESTClientObject

from kube.answer_bounds import (
    MOST_OF_AN_OBJECT,
    MOST_VALUES,
    CacheRoom,
    has_more_values,
    memory_limit,
    most_kept_by,
)
from kube.configuration import Load, configure, loader
from kube.credential_plugin import LIMIT_AT_A_TERMINAL
from kube.errors import NotConfigured, Silent, TooLarge, Unauthorized, Unreachable
from kube.server_clock import ServerClock
from kube.session import Session
from kube.status import classify
from objects.durations import in_words

Query = Sequence[tuple[str, str]]

LOADING = LIMIT_AT_A_TERMINAL + timedelta(seconds=20)
"""The limit for reading credentials again: that may run a plugin, which has a limit of its own."""
_CONNECTING = timedelta(seconds=10)
_OPENING = timedelta(seconds=30)  # a starting API server delays watches until its cache is filled
_FIRST_FAILURE = 300  # an API server never redirects

# Exceptions of the library without a complete answer.
_BROKEN = (aiohttp.ClientError, TimeoutError, OSError)
_UNRELEASED = "is used by transport"
"""A part of the RuntimeError of uvloop for a descriptor of an old connection that it has not released yet."""


@dataclass(frozen=True, kw_only=True)
class _Request:
    method: str
    path: str
    query: Query
    limits: aiohttp.ClientTimeout
    most: int = MOST_OF_AN_OBJECT
    """The limit of the answer in bytes."""
    body: object | None = None
    content_type: str = "application/json"
    accept: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def unreachable(self, error: BaseException) -> Unreachable:
        reason = str(error) or type(error).__name__
        if isinstance(error, aiohttp.ClientResponseError):
            # The library quotes the URL of a proxy, which may contain secrets.
            reason = f"{error.status} {error.message}"
        return Unreachable(f"{self} got no complete answer: {reason}", path=self.path)

    def unsent(self) -> Unreachable:
        return Unreachable(f"{self} was not sent: the connection is closed.", path=self.path)


class Transport:
    """The connection to one API server with one set of credentials."""

    def __init__(  # noqa: PLR0913  each is chosen by the caller
        self,
        configuration: Configuration,
        load: Load,
        user_agent: str = "paramedic",
        tls: ssl.SSLContext | None = None,
        expire_at: datetime | None = None,
        *,
        room: CacheRoom | None = None,
    ) -> None:
        """`tls` is for contexts that the library cannot create from `configuration`.

        From `expire_at` on, a request loads the credentials again. Without `room` that of a workload cluster.
        """
        self.room = room or CacheRoom()
        self._configuration = configuration
        self._load = load
        self._expire_at = expire_at
        self._loading: asyncio.Task[None] | None = None
        self._api = ApiClient(configuration)
        self._api.user_agent = user_agent
        self.server_clock = ServerClock()
        """The server's clock, estimated from the answers."""
        # The session of the library would let watches block requests, and notice dead peers after minutes.
        self._session = Session(tls or self._api.rest_client.ssl_context)
        self._api.rest_client.pool_manager = self._session  # type: ignore[assignment]  # a subset
        self._under_way = 0
        """Requests without a complete answer; streams do not count."""
        self._all_answered = asyncio.Event()
        self._all_answered.set()
        self._is_retired = False
        self._streams: set[aiohttp.ClientResponse] = set()

    @classmethod
    async def connect(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        *,
        user_agent: str = "paramedic",
        most_kept: int | None = None,
        compression: bool = True,
    ) -> Self:
        """Read the configuration of our own cluster; no request is sent yet.

        A cache has at most `most_kept` bytes of records; None: a quarter of the memory of this process.
        Without `compression` the API server sends answers as they are, as the controllers of Kubernetes that
        run beside it choose: compression costs both ends more time than a near network.

        Uses `kubeconfig`, else $KUBECONFIG, else ~/.kube/config, else the service account of the Pod.

        Raises NotConfigured: none of them exists, or it cannot be read.
        """
        load = loader(kubeconfig, context)
        configuration, expire_at = await configure(load)
        with _usable_certificates(configuration):
            room = CacheRoom.of(most_kept or most_kept_by(memory_limit()))
            transport = cls(configuration, load, user_agent, expire_at=expire_at, room=room)
        if not compression:
            transport._api.default_headers["Accept-Encoding"] = "identity"
        return transport

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        return str(self._configuration.host)

    @property
    def is_closed(self) -> bool:
        """True if no further request is possible."""
        return self._is_retired or self._session.closed

    async def retire(self) -> None:
        """Refuse new requests, wait for the running ones, and close every connection."""
        self._is_retired = True
        await self._all_answered.wait()
        await self.close()

    async def close(self) -> None:
        """Close every connection; watches and later requests then raise `Unreachable`."""
        self._end_streams()
        await self._api.close()  # type: ignore[no-untyped-call]  # the library has no types

    def _end_streams(self) -> None:
        for response in self._streams:  # the session does not end waiting streams
            response.close()

    async def request(  # noqa: PLR0913  a request has these parts
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: object | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: timedelta = timedelta(seconds=10),  # noqa: ASYNC109  includes reading the answer
        most: int = MOST_OF_AN_OBJECT,
        most_values: int | None = MOST_VALUES,
    ) -> bytes:
        """The body of a successful answer. `timeout` limits the whole exchange.

        Raises KubernetesError: the subclass for the answer; `Unreachable` without an answer; `TooLarge` if it
        has over `most` bytes or over `most_values` JSON values.
        """
        limits = aiohttp.ClientTimeout(
            total=timeout.total_seconds(), sock_connect=_CONNECTING.total_seconds()
        )
        request = _Request(
            method=method,
            path=path,
            query=query,
            limits=limits,
            most=most,
            body=body,
            content_type=content_type,
            accept=accept,
        )
        self._under_way += 1
        self._all_answered.clear()
        try:
            async with await self._send(request) as response:
                answer = await _read(response, request)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._all_answered.set()
        return _within(most_values, answer, request)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Query, *, silence: timedelta, opening: timedelta = _OPENING
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a GET whose answer arrives line by line, and yield its complete lines.

        `opening` limits the wait for the beginning of the answer, `silence` each wait for more of it. Leaving
        the context closes the connection. The iterator ends when the server ends the answer properly.

        Raises KubernetesError: on opening, by the answer; `Unreachable` also later, when the stream breaks.
        """
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECTING.total_seconds(), sock_read=silence.total_seconds()
        )
        request = _Request(method="GET", path=path, query=query, limits=limits)
        try:
            async with asyncio.timeout(opening.total_seconds()):
                response = await self._send(request)
        except TimeoutError as error:
            raise Unreachable(f"{request} was not answered within {opening}.", path=path) from error
        self._streams.add(response)
        try:
            yield complete_lines(_pieces(response, request), str(request), path)
        finally:
            self._streams.discard(response)
            response.close()

    async def _send(self, request: _Request) -> aiohttp.ClientResponse:
        if self.is_closed:
            raise request.unsent()
        if self._expire_at is not None and self._expire_at <= datetime.now(UTC):
            await self._load_anew()
        try:
            return await self._send_once(request)
        except Unauthorized:
            await self._load_anew()
            return await self._send_once(request)

    async def _load_anew(self) -> None:
        """Read the credentials once for all requests that need others: each read may run a program."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load_in_time())
        # A cancelled caller must not cancel the read of the others.
        await asyncio.shield(self._loading)

    async def _load_in_time(self) -> None:
        shown = _client_certificate(self._configuration)
        try:
            async with asyncio.timeout(LOADING.total_seconds()):
                self._expire_at = await self._load(self._configuration)
        except TimeoutError as error:
            raise NotConfigured(
                f"The credentials for {self.server} could not be read anew within {in_words(LOADING)}."
            ) from error
        if _client_certificate(self._configuration) != shown:
            with _usable_certificates(self._configuration):
                tls = RESTClientObject(self._configuration).ssl_context
            self._end_streams()
            await self._session.reconnect(tls)

    async def _send_once(self, request: _Request) -> aiohttp.ClientResponse:
        if self._session.closed:  # closed meanwhile
            raise request.unsent()
        sent = self.server_clock.monotonic()
        try:
            prepared = await self._api.param_serialize(
                request.method,
                request.path,
                query_params=list(request.query),
                header_params={"Accept": request.accept, "Content-Type": request.content_type},
                body=request.body,
                auth_settings=["BearerToken"],
            )
            answer = await self._api.call_api(*prepared, _request_timeout=request.limits)
        except _BROKEN as error:
            raise request.unreachable(error) from error
        except RuntimeError as error:
            if _UNRELEASED not in str(error):
                raise
            raise request.unreachable(error) from error
        response: aiohttp.ClientResponse = answer.response
        self.server_clock.note(response.headers, sent)
        if response.status < _FIRST_FAILURE:
            return response
        async with response:
            content = _within(MOST_VALUES, await _read(response, request), request)
        retry_after = response.headers.get("Retry-After")
        raise classify(str(request), request.path, response.status, content, retry_after)


def _client_certificate(configuration: Configuration) -> tuple[str | None, str | None]:
    """The names of the files, which are others if the kubeconfig has another certificate."""
    return configuration.cert_file, configuration.key_file


@contextmanager
def _usable_certificates(configuration: Configuration) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # also errors of TLS
        raise NotConfigured(f"The certificates for {configuration.host} cannot be used: {error}.") from error


async def _read(response: aiohttp.ClientResponse, request: _Request) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in _pieces(response, request):
        size += len(piece)
        if size > request.most:
            raise TooLarge(f"{request} was answered with over {request.most} bytes.", path=request.path)
        pieces.append(piece)
    return b"".join(pieces)


def _within(most_values: int | None, answer: bytes, request: _Request) -> bytes:
    if most_values is not None and has_more_values(answer, most_values):
        raise TooLarge(f"{request} was answered with over {most_values} JSON values.", path=request.path)
    return answer


async def _pieces(response: aiohttp.ClientResponse, request: _Request) -> AsyncIterable[bytes]:
    try:
        async for piece in response.content.iter_any():
            yield piece
    except aiohttp.SocketTimeoutError as error:
        raise Silent(f"{request} was silent for too long.", path=request.path) from error
    except (*_BROKEN, RuntimeError) as error:  # RuntimeError: read from a closed connection
        raise request.unreachable(error) from error


async def complete_lines(pieces: AsyncIterable[bytes], request: str, path: str) -> AsyncIterator[bytes]:
    """Yield the non-empty lines, without their newlines, for pieces of any size.

    A line is complete when its newline has arrived. An incomplete last line is never delivered: half an
    object could be a valid, different one.

    Raises Unreachable: the stream ended in the middle of a line; TooLarge: a line is too long.
    """
    begun: list[bytes] = []  # a line of several MB has many pieces: join them once
    size = 0
    async for piece in pieces:
        first, *rest = piece.split(b"\n")
        begun.append(first)
        size = len(rest[-1]) if rest else size + len(first)
        if size > MOST_OF_AN_OBJECT:
            raise TooLarge(
                f"{request} was answered with a line of over {MOST_OF_AN_OBJECT} bytes.", path=path
            )
        for start_of_next in rest:
            line = b"".join(begun)
            begun = [start_of_next]
            if line:
                yield line
    if any(begun):
        raise Unreachable(f"{request} ended in the middle of a line.", path=path)
