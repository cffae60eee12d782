"""The TLS context of connections to a workload cluster, from certificates in memory.

OpenSSL reads a client certificate and its key from a named file. It gets a file in memory; if the system does
not support these, a temporary file that only we can read, and that is deleted at once.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kube.workload_kubeconfig import WorkloadKubeconfig, unusable

_NO_PASSPHRASE = ""  # without one, OpenSSL would ask for it at the terminal


def tls_context(kubeconfig: WorkloadKubeconfig, where: str) -> ssl.SSLContext:
    """A context that trusts only the kubeconfig's authority, and sends its client certificate.

    Raises:
        NotConfigured: one of the certificates, or the key, is invalid.

    """
    context = _trusting(kubeconfig.certificate_authority)
    if context is None:
        raise unusable(where, "the certificate-authority-data of its cluster is no certificate")
    if kubeconfig.client_certificate and not _shows(context, kubeconfig):
        why = "the client-certificate-data and client-key-data of its user are no certificate and its key"
        raise unusable(where, why)
    return context


def _trusting(authority: str) -> ssl.SSLContext | None:
    try:
        context = ssl.create_default_context(cadata=authority or None)
    except ssl.SSLError:
        return None
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # see `configuration.without_retries`
    return context


def _shows(context: ssl.SSLContext, kubeconfig: WorkloadKubeconfig) -> bool:
    with _readable_by_name(f"{kubeconfig.client_certificate}\n{kubeconfig.client_key}") as file:
        try:
            context.load_cert_chain(file, password=_NO_PASSPHRASE)
        except ssl.SSLError:
            return False
    return True


@contextmanager
def _readable_by_name(text: str) -> Iterator[str]:
    """The name of a file with that content, until the end of the context."""
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
