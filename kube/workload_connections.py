"""WorkloadConnections: to workload clusters, each by the kubeconfig in a Secret of the management cluster.

Whoever needs one asks for it anew, and the Secret is read anew: the connection is the same one for as long
as that says the same. A new token is taken over by the open connection, without a gap, and so is one that
the Secret has by the time the API server refuses the old one. Another server, authority or client
certificate is another connection. One that nobody asks for is closed: its cluster may be gone for good.
"""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable
from datetime import timedelta
from hashlib import sha256
from typing import Self

from kubernetes.aio.client import Configuration

from kube.client import Client
from kube.configuration import use_proxy, use_token, without_retries
from kube.connection import ClusterConnection
from kube.errors import NotConfigured, NotFound, Unreachable
from kube.resource import SECRETS
from kube.shared_reads import SharedReads
from kube.transport import Transport
from kube.workload_kubeconfig import WorkloadKubeconfig, parse_workload_kubeconfig, unusable
from kube.workload_tls import tls_context
from objects.clusters import SecretField

GRACE = timedelta(seconds=30)
"""So long a connection that was replaced takes new requests. Those that it has taken are answered."""
UNASKED = timedelta(hours=1)
"""A connection that nobody has asked for within it is closed when the next one is asked for."""


class WorkloadConnections:
    """The open ones, by cluster; an async context, which closes all of them at its end."""

    def __init__(self, management: Client, grace: timedelta = GRACE, unasked: timedelta = UNASKED) -> None:
        self._secrets = SharedReads(management)
        self._grace = grace
        self._unasked = unasked
        self._opened: dict[str, _Opened] = {}
        self._asked: dict[str, float] = {}
        """When each was asked for last, whether it could be had or not."""
        self._replaced: dict[asyncio.Task[None], Transport] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for cluster in tuple(self._opened):
            await self.close(cluster)
        for closing, transport in tuple(self._replaced.items()):
            closing.cancel()
            await transport.close()

    async def connect(self, cluster: str, secret: SecretField) -> ClusterConnection:
        """The connection by what the Secret says now; no request is made to that cluster yet.

        A connection that was given out before, and is replaced, takes requests for `grace`.

        Raises:
            KubernetesError: the Secret cannot be read.
            NotConfigured: there is none, or what it says cannot be used.

        """
        self._asked[cluster] = asyncio.get_running_loop().time()
        content = await self._read(secret)
        self._close_unasked(cluster)
        # Nothing is awaited from here on: of several callers, the first one makes it for all.
        opened = self._opened.get(cluster)
        if opened is not None and opened.secret == secret and opened.goes_on_with(content):
            return opened.connection
        made = _Opened(cluster, secret, content, self._read)
        self._opened[cluster] = made
        if opened is not None:
            self._close_later(opened.connection.transport)
        return made.connection

    async def close(self, cluster: str) -> None:
        """Close the connection to this cluster at once, if there is one; what is under way is Unreachable."""
        self._asked.pop(cluster, None)
        opened = self._opened.pop(cluster, None)
        if opened is not None:
            await opened.connection.transport.close()

    async def _read(self, secret: SecretField) -> bytes:
        """What the Secret has in that key now."""
        try:
            found = await self._secrets.get(SECRETS, secret.name, secret.namespace)
        except NotFound as error:
            # Whoever asks for a Node would take NotFound for the news that there is no such Node.
            raise NotConfigured(f"There is no kubeconfig in {secret}: {error.message}") from error
        value = (found.get("data") or {}).get(secret.key)
        if not value:
            raise NotConfigured(f"There is no kubeconfig in {secret}: it has no such key, or nothing in it.")
        return _decoded(value, secret)

    def _close_unasked(self, asked: str) -> None:
        """Close the others that nobody has asked for of late."""
        since = asyncio.get_running_loop().time() - self._unasked.total_seconds()
        for cluster in [one for one, at in self._asked.items() if at < since and one != asked]:
            del self._asked[cluster]
            opened = self._opened.pop(cluster, None)
            if opened is not None:
                self._close_later(opened.connection.transport)

    def _close_later(self, replaced: Transport) -> None:
        closing = asyncio.create_task(self._close(replaced))
        self._replaced[closing] = replaced
        closing.add_done_callback(self._replaced.pop)

    async def _close(self, replaced: Transport) -> None:
        await asyncio.sleep(self._grace.total_seconds())
        await replaced.retire()


class _Opened:
    """One connection, and what it was made by: digests alone, beside the token that is sent."""

    def __init__(
        self,
        cluster: str,
        secret: SecretField,
        content: bytes,
        read: Callable[[SecretField], Awaitable[bytes]],
    ) -> None:
        kubeconfig = parse_workload_kubeconfig(content, str(secret))
        self.secret = secret
        self._read = read
        self._content = sha256(content).digest()
        self._endpoint = kubeconfig.endpoint
        self._configuration = _configuration(kubeconfig)
        tls = tls_context(kubeconfig, str(secret))
        transport = Transport(self._configuration, self._load, tls=tls)
        self.connection = ClusterConnection.over(transport, cluster=cluster)

    def goes_on_with(self, content: bytes) -> bool:
        """Whether that is what this connection may be used with; a new token is used from now on.

        Raises:
            NotConfigured: it cannot be used with any.

        """
        digest = sha256(content).digest()
        if digest == self._content:
            return True
        kubeconfig = parse_workload_kubeconfig(content, str(self.secret))
        if kubeconfig.endpoint != self._endpoint:
            return False
        use_token(self._configuration, kubeconfig.token)
        self._content = digest
        return True

    async def _load(self, _: Configuration) -> None:
        """Read the credentials anew: the API server has refused those that we have."""
        if not self.goes_on_with(await self._read(self.secret)):
            raise Unreachable(f"The kubeconfig in {self.secret} is another one now: connect anew.")


def _configuration(kubeconfig: WorkloadKubeconfig) -> Configuration:
    configuration = without_retries()
    configuration.host = kubeconfig.server
    # For the context that the library makes and nobody uses: without it, all that the system trusts is read.
    configuration.ca_cert_data = kubeconfig.certificate_authority or None
    configuration.tls_server_name = kubeconfig.tls_server_name or None
    use_token(configuration, kubeconfig.token)
    use_proxy(configuration)
    return configuration


def _decoded(value: object, secret: SecretField) -> bytes:
    try:
        return b64decode(str(value), validate=True)
    except ValueError:
        why = "it is no base64"
    raise unusable(str(secret), why)
