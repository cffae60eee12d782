"""The only way of the demo to the user's cluster: a proxy on loopback that asks the guard about each request.

Its clients present a token that this run of the demo made, so no other user of this machine can use the
credentials behind it. It sends each request that passes with the credentials of the user, and hands on the
raw answer.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration

from devcluster.files import write
from devcluster.user_cluster.guard import ApiRequest, Query, Refuse, judge
from kube.configuration import Load, configure, loader
from kube.errors import KubernetesError, NotConfigured
from kube.session import Session
from kube.transport import LOADING

MOST_OF_A_BODY = 4 * 1024**2
ASKED, ANSWERED = ("Accept", "Content-Type", "User-Agent"), ("Content-Type", "Date", "Retry-After", "Warning")
"""The headers that pass. The Date shows the clock of the API server."""
_log = logging.getLogger(__name__)
CONNECTING = timedelta(seconds=10)
ANSWER_WITHIN = timedelta(seconds=60)
SILENCE = timedelta(minutes=7)
"""The longest silence of a watch: more than the time for which the programs of the demo watch."""


class Upstream:
    """The API server of one context of the user's kubeconfig."""

    def __init__(self, configuration: Configuration, load: Load) -> None:
        self._configuration = configuration
        self._load = load
        self._loading = asyncio.Lock()
        self._api = ApiClient(configuration)
        self._session = Session(self._api.rest_client.ssl_context)

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        return str(self._configuration.host)

    async def close(self) -> None:
        await self._session.close()
        await self._api.close()  # type: ignore[no-untyped-call]  # the library has no types

    @asynccontextmanager
    async def send(
        self, request: ApiRequest, query: Query, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send the request with this query; the answer, whatever its status.

        Credentials that are refused are read again once. Raises aiohttp.ClientError, TimeoutError, OSError
        and NotConfigured.
        """
        answer = await self._send(request, query, headers)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            answer.release()
            await self._read_credentials()
            answer = await self._send(request, query, headers)
        async with answer:
            yield answer

    async def _send(
        self, request: ApiRequest, query: Query, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        signed = dict(headers)
        await self._api.update_params_for_auth(
            signed,
            [],
            ["BearerToken"],
            resource_path=request.path,
            method=request.method,
            body=None,
        )
        url = f"{self._configuration.host}{request.path}"
        return await self._session.request(
            method=request.method,
            url=f"{url}?{urlencode(query)}" if query else url,
            headers=signed,
            data=request.body or None,
            proxy=self._configuration.proxy,
            server_hostname=self._configuration.tls_server_name,
            timeout=_limits(query),
        )

    async def _read_credentials(self) -> None:
        async with self._loading, asyncio.timeout(LOADING.total_seconds()):
            await self._load(self._configuration)


def _limits(query: Query) -> aiohttp.ClientTimeout:
    connecting = CONNECTING.total_seconds()
    if dict(query).get("watch") in ("true", "1"):
        return aiohttp.ClientTimeout(total=None, sock_connect=connecting, sock_read=SILENCE.total_seconds())
    return aiohttp.ClientTimeout(total=ANSWER_WITHIN.total_seconds(), sock_connect=connecting)


@asynccontextmanager
async def upstream(context: str) -> AsyncIterator[Upstream]:
    """Connect to the cluster of a context in $KUBECONFIG or ~/.kube/config.

    Raises NotConfigured: there is no such context, or it cannot be used.
    """
    load = loader(None, context)
    configuration, _ = await configure(load)
    try:
        found = Upstream(configuration, load)
    except OSError as error:  # also errors of TLS
        raise NotConfigured(f"The certificates for {configuration.host} cannot be used: {error}.") from error
    try:
        yield found
    finally:
        await found.close()


class GuardProxy:
    """Answers requests by the API server, as far as the guard lets them pass."""

    def __init__(self, upstream: Upstream, token: str) -> None:
        self._upstream = upstream
        self._authorization = f"Bearer {token}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if not secrets.compare_digest(request.headers.get("Authorization", ""), self._authorization):
            return _refusal(HTTPStatus.UNAUTHORIZED, "Unauthorized", "this proxy belongs to a demo")
        api_request = ApiRequest(
            method=request.method,
            path=request.rel_url.raw_path,
            query=tuple(request.query.items()),
            body=await request.read(),
        )
        verdict = judge(api_request)
        if isinstance(verdict, Refuse):
            _log.warning("%s %s is refused: %s", api_request.method, api_request.path, verdict.reason)
            return _refusal(HTTPStatus.FORBIDDEN, "Forbidden", f"the demo may not: {verdict.reason}")
        headers = {name: request.headers[name] for name in ASKED if name in request.headers}
        try:
            async with self._upstream.send(api_request, verdict.query, headers) as answer:
                return await _pass_on(answer, request)
        except (KubernetesError, aiohttp.ClientConnectionError, TimeoutError, OSError) as error:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", _words(error))


async def _pass_on(answer: aiohttp.ClientResponse, request: web.Request) -> web.StreamResponse:
    headers = {name: answer.headers[name] for name in ANSWERED if name in answer.headers}
    passed = web.StreamResponse(status=answer.status, headers=headers)
    await passed.prepare(request)
    try:
        async for piece in answer.content.iter_any():
            await passed.write(piece)
    except (aiohttp.ClientError, TimeoutError, OSError):
        # Half an answer must not look complete, and its status is sent already.
        if request.transport is not None:
            request.transport.abort()
        return passed
    await passed.write_eof()
    return passed


def _refusal(status: HTTPStatus, reason: str, message: str) -> web.Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": status.value,
    }
    return web.json_response(body, status=status)


def _words(error: BaseException) -> str:
    """The error without the URL of a proxy, which the library quotes and which may contain secrets."""
    return str(error) if isinstance(error, KubernetesError | OSError) else type(error).__name__


@asynccontextmanager
async def guarded_kubeconfig(upstream: Upstream, directory: Path) -> AsyncIterator[Path]:
    """Run the proxy while the block runs; the kubeconfig that leads through it."""
    token = secrets.token_hex(24)
    application = web.Application(client_max_size=MOST_OF_A_BODY)
    application.router.add_route("*", "/{path:.*}", GuardProxy(upstream, token).handle)
    file = directory / "guarded.kubeconfig"
    runner = web.AppRunner(application, handler_cancellation=True, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        write(file, _kubeconfig(f"http://{host}:{port}", token))
        yield file
    finally:
        file.unlink(missing_ok=True)
        await runner.cleanup()


def _kubeconfig(server: str, token: str) -> str:
    """A kubeconfig in JSON, which YAML parsers read."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "guarded", "cluster": {"server": server}}],
        "users": [{"name": "demo", "user": {"token": token}}],
        "contexts": [{"name": "guarded", "context": {"cluster": "guarded", "user": "demo"}}],
        "current-context": "guarded",
    }
    return json.dumps(content, indent=2) + "\n"
