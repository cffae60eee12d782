"""Sends requests to the user's API server with the user's credentials, and hands on the raw answers."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from http import HTTPStatus
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration

from devcluster.user_cluster.guard import ApiRequest, Query
from kube.configuration import Load, configure, loader
from kube.errors import NotConfigured
from kube.session import Session

CONNECTING = timedelta(seconds=10)
ANSWER_WITHIN = timedelta(seconds=60)
SILENCE = timedelta(minutes=7)
"""The longest silence of a watch: more than the time for which the programs of the demo watch."""
LOADING = timedelta(seconds=10)
"""The limit for reading refused credentials again: that may run a program."""


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
    configuration = await configure(load)
    try:
        found = Upstream(configuration, load)
    except OSError as error:  # also errors of TLS
        raise NotConfigured(f"The certificates for {configuration.host} cannot be used: {error}.") from error
    try:
        yield found
    finally:
        await found.close()
