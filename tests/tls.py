"""Certificates for servers of tests on the loopback interface."""

from pathlib import Path

from devcluster.serving_certificate import certificate_of, in_pem, private_key


def write_pair(directory: Path, name: str = "paramedic", *, is_authority: bool = True) -> str:
    """Put a new self-signed pair tls.crt and tls.key there; return the certificate.

    Of an authority the core of the Temporal SDK takes none for a server's.
    """
    key = private_key()
    certificate = certificate_of(key, name, is_authority=is_authority)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tls.crt").write_text(certificate)
    (directory / "tls.key").write_text(in_pem(key))
    return certificate
