"""WorkloadConnections: connections to workload clusters, by kubeconfigs in Secrets of the management cluster.

Each caller asks for the connection again, and the Secret is read again: the connection stays the same as long
as the Secret does. The open connection takes over a new token without a gap, also when the API server refuses
the old one. Another server, authority or client certificate leads to another connection. A connection without
callers is closed: its cluster may be gone.

An invalid kubeconfig is parsed once: its error is raised again as long as the Secret does not change.
"""

import asyncio
import os
import ssl
import tempfile
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Self

from kubernetes.aio.client import Configuration

from kube.client import Client, SharedReads
from kube.configuration import use_proxy, use_token, without_retries
from kube.connection import ClusterConnection
from kube.errors import NotConfigured, NotFound, Unreachable
from kube.resource import SECRETS
from kube.transport import Transport
from kube.workload_kubeconfig import WorkloadKubeconfig, parse_workload_kubeconfig, unusable
from objects.clusters import MANAGEMENT_CLUSTER, SecretField

_NO_PASSPHRASE = ""  # without one, OpenSSL would ask for it at the terminal


def tls_context(kubeconfig: WorkloadKubeconfig, where: str) -> ssl.SSLContext:
    """A context that trusts only the kubeconfig's authority, and sends its client certificate.

    Raises NotConfigured: one of the certificates, or the key, is invalid.
    """
    # Each error is raised outside of its block, so that the error of the library is not its context.
    context: ssl.SSLContext | None = None
    with suppress(ssl.SSLError):
        context = ssl.create_default_context(cadata=kubeconfig.certificate_authority or None)
    if context is None:
        raise unusable(where, "the certificate-authority-data of its cluster is no certificate")
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # see `configuration.without_retries`
    if kubeconfig.client_certificate:
        pair = f"{kubeconfig.client_certificate}\n{kubeconfig.client_key}"
        is_loaded = False
        with _readable_by_name(pair) as file, suppress(ssl.SSLError):
            context.load_cert_chain(file, password=_NO_PASSPHRASE)
            is_loaded = True
        if not is_loaded:
            why = "the client-certificate-data and client-key-data of its user are no certificate and its key"
            raise unusable(where, why)
    return context


@contextmanager
def _readable_by_name(text: str) -> Iterator[str]:
    """The name of a file with that content, until the end of the context.

    OpenSSL reads a client certificate and its key from a named file. It gets a file in memory; if the system
    does not support these, a temporary file that only we can read, and that is deleted at once.
    """
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").exists():
        with os.fdopen(os.memfd_create("client-certificate"), "w") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile("w") as file:  # made with mode 0600
        file.write(text)
        file.flush()
        yield file.name


GRACE = timedelta(seconds=30)
"""A replaced connection accepts new requests for this time. Accepted requests are always completed."""
UNASKED = timedelta(hours=1)
"""A connection without callers for this time is closed at the next call for another one."""


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
        content = _decoded(value, secret)
        refused = self._refused.get(cluster)
        if refused is not None and refused.concerns(secret, content):
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

    def concerns(self, secret: SecretField, content: bytes) -> bool:
        return (self.secret, self.digest) == (secret, sha256(content).digest())


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
        self._configuration = _configuration(kubeconfig)
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


def _configuration(kubeconfig: WorkloadKubeconfig) -> Configuration:
    configuration = without_retries()
    configuration.host = kubeconfig.server
    # For the unused context that the library creates: without it, all certificates of the system are loaded.
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
