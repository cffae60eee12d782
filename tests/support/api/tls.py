"""Certificates for test servers on the loopback interface."""

from pathlib import Path

from devcluster.credentials import certificate_of, in_pem, private_key


def write_pair(directory: Path, name: str = "paramedic", *, is_authority: bool = True) -> str:
    """Write a new self-signed pair tls.crt and tls.key into `directory`; return the certificate.

    The core of the Temporal SDK rejects an authority's certificate as the certificate of a server.
    """
    key = private_key()
    certificate = certificate_of(key, name, is_authority=is_authority)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tls.crt").write_text(certificate)
    (directory / "tls.key").write_text(in_pem(key))
    return certificate
