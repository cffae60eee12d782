"""The connections to API servers: to that of our own cluster, and to those of workload clusters.

Checks, requests and Leases are in the management cluster. Nodes may be in workload clusters, each with a
connection of its own, by a kubeconfig in a Secret of the management cluster. The state of one connection says
nothing about another.

Each caller asks for the connection to a workload cluster again, and the Secret is read again: the connection
stays the same as long as the Secret does. The open connection takes over a new token without a gap, also when
the API server refuses the old one. Another server, authority or client certificate leads to another
connection. A connection without callers is closed: its cluster may be gone. An invalid kubeconfig is parsed
once: its error is raised again as long as the Secret does not change.
"""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple, Self

from kubernetes.aio.client import Configuration

from kube.client import Client, SharedReads
from kube.configuration import use_proxy, use_token, without_retries
from kube.discovery import Discovery
from kube.errors import NotConfigured, NotFound, Unreachable
from kube.resource import KUBE_SYSTEM, NAMESPACES, SECRETS
from kube.server_clock import ServerClock
from kube.transport import Transport
from kube.workload_kubeconfig import parse_workload_kubeconfig, tls_context, unusable
from objects.clusters import MANAGEMENT_CLUSTER, SecretField, cluster_identity

GRACE = timedelta(seconds=30)
"""A replaced connection accepts new requests for this time. Accepted requests are always completed."""
UNASKED = timedelta(hours=1)
"""A connection without callers for this time is closed at the next call for another one."""


@dataclass(frozen=True)
class ClusterConnection:
    """The connection to one cluster, with one set of credentials."""

    transport: Transport
    client: Client
    cluster: str = MANAGEMENT_CLUSTER
    """The name of the cluster."""

    @classmethod
    def over(
        cls,
        transport: Transport,
        field_manager: str = "paramedic",
        cluster: str = MANAGEMENT_CLUSTER,
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """A connection by `transport`; each object that its client creates gets `labels`."""
        return cls(transport, Client(transport, field_manager, labels), cluster)

    @property
    def discovery(self) -> Discovery:
        """Shared by all callers of this connection: an entry that one of them drops is dropped for all."""
        return self.client.discovery

    @property
    def server_clock(self) -> ServerClock:
        return self.transport.server_clock


async def read_cluster_identity(client: Client, name: str) -> str:
    """The identity of the cluster that `client` talks to, by its configured name and kube-system's uid.

    Raises KubernetesError: kube-system cannot be read.
    """
    kube_system = await client.get(NAMESPACES, KUBE_SYSTEM)
    return cluster_identity(name, kube_system["metadata"]["uid"])


class WorkloadConnections:
    """The open connections, by cluster; leaving the async context closes all of them."""

    def __init__(self, management: Client, grace: timedelta = GRACE, unasked: timedelta = UNASKED) -> None:
        self._secrets = SharedReads(management)
        self._grace = grace
        self._unasked = unasked
        self._opened: dict[str, _Opened] = {}
        self._last_used: dict[str, float] = {}
        """The time of the last call for each cluster, successful or not."""
        self._refused: dict[str, _Refusal] = {}
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
        """The connection by the present content of the Secret; no request to that cluster is sent yet.

        A replaced connection accepts requests for `grace`.

        Raises:
            KubernetesError: the Secret cannot be read.
            NotConfigured: it does not exist, or its content is invalid.

        """
        self._last_used[cluster] = asyncio.get_running_loop().time()
        content = await self._read(cluster, secret)
        self._close_unused(cluster)
        # No await from here on: of concurrent callers, the first one creates the connection for all.
        try:
            opened = self._opened.get(cluster)
            if opened is not None and opened.secret == secret and opened.goes_on_with(content):
                return opened.connection
            made = self._opened[cluster] = _Opened(cluster, secret, content, self._read)
        except NotConfigured as error:
            self._refused[cluster] = _Refusal(secret, sha256(content).digest(), error.message)
            raise
        if opened is not None:
            self._close_later(opened.connection.transport)
        return made.connection

    async def close(self, cluster: str) -> None:
        """Close the connection to this cluster at once, if there is one; its requests get Unreachable."""
        self._last_used.pop(cluster, None)
        self._refused.pop(cluster, None)
        opened = self._opened.pop(cluster, None)
        if opened is not None:
            await opened.connection.transport.close()

    async def _read(self, cluster: str, secret: SecretField) -> bytes:
        """The present value of that key in the Secret; raises NotConfigured if it was refused before."""
        try:
            found = await self._secrets.get(SECRETS, secret.name, secret.namespace)
        except NotFound as error:
            # NotFound would mean to a caller that asks for a Node that the Node does not exist.
            raise NotConfigured(f"There is no kubeconfig in {secret}: {error.message}") from error
        value = (found.get("data") or {}).get(secret.key)
        if not value:
            raise NotConfigured(f"There is no kubeconfig in {secret}: it has no such key, or nothing in it.")
        content: bytes | None = None
        with suppress(ValueError):
            content = b64decode(str(value), validate=True)
        if content is None:  # outside of the block, so that the error of the library is not its context
            raise unusable(str(secret), "it is no base64")
        refused = self._refused.get(cluster)
        if refused is not None and (refused.secret, refused.digest) == (secret, sha256(content).digest()):
            raise NotConfigured(refused.message)
        return content

    def _close_unused(self, requested: str) -> None:
        since = asyncio.get_running_loop().time() - self._unasked.total_seconds()
        for cluster in [
            cluster for cluster, at in self._last_used.items() if at < since and cluster != requested
        ]:
            del self._last_used[cluster]
            self._refused.pop(cluster, None)
            opened = self._opened.pop(cluster, None)
            if opened is not None:
                self._close_later(opened.connection.transport)

    def _close_later(self, replaced: Transport) -> None:
        async def close() -> None:
            await asyncio.sleep(self._grace.total_seconds())
            await replaced.retire()

        closing = asyncio.create_task(close())
        self._replaced[closing] = replaced
        closing.add_done_callback(self._replaced.pop)


class _Refusal(NamedTuple):
    """An invalid content of a Secret, and the error that it causes; parsing it again would give the same."""

    secret: SecretField
    digest: bytes
    message: str


class _Opened:
    def __init__(
        self,
        cluster: str,
        secret: SecretField,
        content: bytes,
        read: Callable[[str, SecretField], Awaitable[bytes]],
    ) -> None:
        kubeconfig = parse_workload_kubeconfig(content, secret)
        self._cluster = cluster
        self.secret = secret
        self._read = read
        self._content = sha256(content).digest()
        self._endpoint = kubeconfig.endpoint
        configuration = self._configuration = without_retries()
        configuration.host = kubeconfig.server
        # For the unused context of the library, which would load all certificates of the system.
        configuration.ca_cert_data = kubeconfig.certificate_authority
        configuration.tls_server_name = kubeconfig.tls_server_name
        use_token(configuration, kubeconfig.token)
        use_proxy(configuration)
        tls = tls_context(kubeconfig, str(secret))
        transport = Transport(self._configuration, self._load, tls=tls)
        self.connection = ClusterConnection.over(transport, cluster=cluster)

    def goes_on_with(self, content: bytes) -> bool:
        """True if this connection can be used with that content; it takes over a new token.

        Raises NotConfigured: the content is invalid.
        """
        digest = sha256(content).digest()
        if digest == self._content:
            return True
        kubeconfig = parse_workload_kubeconfig(content, self.secret)
        if kubeconfig.endpoint != self._endpoint:
            return False
        use_token(self._configuration, kubeconfig.token)
        self._content = digest
        return True

    async def _load(self, _: Configuration) -> None:
        """Read the credentials again, after the API server has refused ours."""
        if not self.goes_on_with(await self._read(self._cluster, self.secret)):
            raise Unreachable(f"The kubeconfig in {self.secret} has changed: connect again.")


@dataclass(frozen=True)
class ClusterConnections:
    """The connections of one process to the cluster of the checks, and to those of the targets' Nodes."""

    management: ClusterConnection
    workload_clusters: WorkloadConnections

    async def of(self, cluster: str, kubeconfig: SecretField | None) -> ClusterConnection:
        """The connection to this cluster, by the present content of its Secret.

        Raises KubernetesError: as `WorkloadConnections.connect`; NotConfigured also if no Secret is known.
        """
        if cluster == MANAGEMENT_CLUSTER:
            return self.management
        if kubeconfig is None:
            raise NotConfigured(f"no Secret with a kubeconfig of the cluster {cluster} is known")
        return await self.workload_clusters.connect(cluster, kubeconfig)
