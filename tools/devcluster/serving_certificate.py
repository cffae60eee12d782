"""Creates the self-signed certificate of kube-apiserver.

kube-apiserver would create an RSA key: with many short connections, as in tests, its signatures take a tenth
of the CPU time.
"""

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFE = timedelta(days=3650)
"""Long, because a directory may be kept for years; it is used on this machine only."""
API_SERVER = "kube-apiserver of paramedic dev"
LATE_CLOCKS = timedelta(hours=1)


def private_key() -> ec.EllipticCurvePrivateKey:
    """A new key on P-256, which is fast to create and use."""
    return ec.generate_private_key(ec.SECP256R1())


def in_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """The key in the format that kube-apiserver reads."""
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


def certificate_of(
    key: ec.EllipticCurvePrivateKey, common_name: str = API_SERVER, *, is_authority: bool = True
) -> str:
    """A certificate for the loopback address, in PEM; as an authority, clients can trust it directly."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    loopback = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LATE_CLOCKS)
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectAlternativeName(loopback), critical=False)
        .add_extension(x509.BasicConstraints(is_authority, 0 if is_authority else None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
