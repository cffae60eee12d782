"""WorkloadKubeconfig: the API server and the credentials inside a kubeconfig from a Secret.

A writer of that Secret must not gain more than the choice of the API server: no program is run, no file is
read, no user is impersonated, and the certificate of the server is always verified. Unknown fields are
refused, too, because they may change server or user. Errors quote nothing of the kubeconfig.
"""

import os
import re
import ssl
import tempfile
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from kube.errors import NotConfigured
from objects.clusters import SecretField
from objects.yaml_document import Document, NoDocumentError, read_document

_FILES = "files are never read"
_PROGRAMS = "no program is run for credentials"
_NO_BASIC_AUTHENTICATION = "only a token and a client certificate are understood"
_IMPERSONATION = "impersonation is not allowed"

_CLUSTER_FIELDS = frozenset(
    {"server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"}
)
_USER_FIELDS = frozenset({"token", "client-certificate-data", "client-key-data", "extensions"})
_REFUSED = {
    "certificate-authority": _FILES,
    "insecure-skip-tls-verify": "the certificate of an API server is always verified",
    "proxy-url": "an API server is reached by the proxy of this process, or by none",
    "client-certificate": _FILES,
    "client-key": _FILES,
    "tokenFile": _FILES,
    "exec": _PROGRAMS,
    "auth-provider": _PROGRAMS,
    "username": _NO_BASIC_AUTHENTICATION,
    "password": _NO_BASIC_AUTHENTICATION,
    "as": _IMPERSONATION,
    "as-uid": _IMPERSONATION,
    "as-groups": _IMPERSONATION,
    "as-user-extra": _IMPERSONATION,
}

_SERVICE = re.compile(r"(?!localhost$)[a-z]([-a-z0-9]*[a-z0-9])?")
"""The name of a Service: no dot, and no address such as 2130706433 or 0x7f000001."""


_NO_PASSPHRASE = ""  # without one, OpenSSL would ask for it at the terminal


@dataclass(frozen=True, kw_only=True)
class WorkloadKubeconfig:
    """The address of an API server, and our credentials; its repr has no credentials."""

    server: str
    certificate_authority: str | None = field(default=None, repr=False)
    """PEM; None means the authorities that the system trusts, as in kubectl."""
    tls_server_name: str | None = None
    client_certificate: str | None = field(default=None, repr=False)
    client_key: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)

    @property
    def endpoint(self) -> bytes:
        """A digest of all parts that a connection depends on; the token is sent with each request."""
        names = (self.server, self.certificate_authority, self.tls_server_name)
        parts = (*names, self.client_certificate, self.client_key)
        return sha256(b"".join(sha256((part or "").encode()).digest() for part in parts)).digest()


def parse_workload_kubeconfig(text: bytes | str, secret: SecretField) -> WorkloadKubeconfig:
    """Read the current context of the kubeconfig in that Secret.

    Raises NotConfigured: it is invalid, or has a forbidden field.
    """
    try:
        return _parse(read_document(text), secret.namespace)
    except (_RefusedError, NoDocumentError) as error:
        why = str(error)
    raise unusable(str(secret), why)


def unusable(where: str, why: str) -> NotConfigured:
    return NotConfigured(f"The kubeconfig in {where} cannot be used: {why}.")


class _RefusedError(Exception): ...


def _refuse(why: str) -> NoReturn:
    raise _RefusedError(why)


def _parse(document: Document, namespace: str) -> WorkloadKubeconfig:
    name = _text(document, "it", "current-context") or _refuse("it has no current-context")
    context = _named(document, "context", name, "its current-context")
    of_cluster = _text(context, "its current context", "cluster") or _refuse(
        "its current context names no cluster"
    )
    of_user = _text(context, "its current context", "user") or _refuse("its current context names no user")
    cluster = _named(document, "cluster", of_cluster, "its current context")
    user = _named(document, "user", of_user, "its current context")
    _check_fields(cluster, "its cluster", _CLUSTER_FIELDS)
    _check_fields(user, "its user", _USER_FIELDS)
    certificate = _pem(user, "its user", "client-certificate-data", "CERTIFICATE")
    key = _pem(user, "its user", "client-key-data", "PRIVATE KEY")
    token = _printable(user, "its user", "token")
    if certificate and not key:
        _refuse("its user has client-certificate-data, but no client-key-data")
    if key and not certificate:
        _refuse("its user has client-key-data, but no client-certificate-data")
    if not (certificate or token):
        _refuse("its user has neither a token nor client-certificate-data")
    server, host = _server(cluster, namespace)
    authority = _pem(cluster, "its cluster", "certificate-authority-data", "CERTIFICATE")
    return WorkloadKubeconfig(
        server=server,
        certificate_authority=authority or None,
        tls_server_name=_printable(cluster, "its cluster", "tls-server-name") or host,
        client_certificate=certificate or None,
        client_key=key or None,
        token=token or None,
    )


def _named(document: Document, kind: str, name: str, by: str) -> Document:
    """The context, cluster or user of that name, which `by` names."""
    listed = document.get(f"{kind}s")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    found = [entry.get(kind) for entry in entries if entry.get("name") == name]
    if not found:
        _refuse(f"{by} names a {kind} that it does not have")
    if len(found) > 1:
        _refuse(f"{by} names a {kind} that it has more than once")
    entry = found[0] or {}
    return entry if isinstance(entry, dict) else _refuse(f"the {kind} that {by} names is no mapping")


def _check_fields(entry: Document, entry_name: str, allowed: frozenset[str]) -> None:
    for name, value in entry.items():
        if name in allowed or not value:
            continue
        if name in _REFUSED:
            _refuse(f"{entry_name} has {name}, and {_REFUSED[name]}")
        # The name is not quoted: with a misplaced colon, it contains a credential.
        _refuse(f"{entry_name} has a field that is not known here")


def _server(cluster: Document, namespace: str) -> tuple[str, str | None]:
    """The address to connect to, and the host as written if the address has another one, else None.

    HyperShift writes the name of a Service in the namespace of the Secret, which resolves only there, and its
    certificate has that name.
    """
    server = _printable(cluster, "its cluster", "server")
    try:
        url = urlsplit(server)
        host, port = url.hostname, url.port
    except ValueError:
        _refuse("the server of its cluster is no URL")
    if "@" in url.netloc:
        _refuse("the server of its cluster has a user name or a password in it")
    if url.scheme != "https" or not host:
        _refuse("its cluster has no server that begins with https://")
    if url.query or url.fragment:
        _refuse("the server of its cluster has a query or a fragment")
    if not _SERVICE.fullmatch(host):
        return server.rstrip("/"), None
    place = f"{host}.{namespace}.svc{f':{port}' if port is not None else ''}"
    return url._replace(netloc=place).geturl().rstrip("/"), host


def _pem(entry: Document, entry_name: str, name: str, label: str) -> str:
    """The decoded PEM, or "" if there is none."""
    encoded = "".join(_text(entry, entry_name, name).split())
    try:
        text = b64decode(encoded, validate=True).decode("ascii")
    except ValueError:
        _refuse(f"the {name} of {entry_name} is no base64 of PEM")
    if encoded and f"{label}-----" not in text:
        _refuse(f"the {name} of {entry_name} is no base64 of PEM")
    if "ENCRYPTED" in text:
        _refuse(f"the {name} of {entry_name} is encrypted")
    return text


def _printable(entry: Document, entry_name: str, name: str) -> str:
    """Text that may be part of a request."""
    text = _text(entry, entry_name, name).strip()
    if not (text.isascii() and text.isprintable()) or " " in text:
        _refuse(f"the {name} of {entry_name} has characters that it cannot have")
    return text


def _text(entry: Mapping[str, Any], entry_name: str, name: str) -> str:
    value = entry.get(name)
    if value is None or isinstance(value, str):
        return value or ""
    _refuse(f"the {name} of {entry_name} is not text")


def tls_context(kubeconfig: WorkloadKubeconfig, where: str) -> ssl.SSLContext:
    """A context that trusts only the kubeconfig's authority, and sends its client certificate.

    Raises NotConfigured: one of the certificates, or the key, is invalid.
    """
    # Each error is raised outside of its block, so that the error of the library is not its context.
    context: ssl.SSLContext | None = None
    with suppress(ssl.SSLError):
        context = ssl.create_default_context(cadata=kubeconfig.certificate_authority)
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
