"""The certificate of the control plane, and tokens and kubeconfigs for its users, kept over restarts.

The detector and the worker use the ServiceAccounts of `deploy/base/rbac`, so that a missing right shows here
and not in production.
"""

import csv
import io
import ipaddress
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from devcluster.files import write

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
    """A certificate for the loopback address, in PEM; as an authority, clients can trust it directly.

    kube-apiserver would create an RSA key for itself: with many short connections, as in tests, its
    signatures take a tenth of the CPU time.
    """
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


NAMESPACE = "paramedic-system"


@dataclass(frozen=True)
class User:
    """A user name in RBAC, its groups, and the name of its kubeconfig."""

    file: str
    name: str
    groups: tuple[str, ...] = ()


def _service_account(name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}")
    return User(name, f"system:serviceaccount:{NAMESPACE}:{name}", groups)


CLUSTER_ADMIN = User("cluster-admin", "cluster-admin", ("system:masters",))
CONTROLLER_MANAGER = User("kube-controller-manager", "system:kube-controller-manager")
DETECTOR = _service_account("paramedic-detector")
WORKER = _service_account("paramedic-worker")
USERS = (CLUSTER_ADMIN, CONTROLLER_MANAGER, DETECTOR, WORKER)


class Credentials:
    """The files with keys, tokens and kubeconfigs in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tokens = folder / "tokens.csv"
        self.signing_key = folder / "service-accounts.key"
        self.certificates = folder / "certificates"
        """The folder in which kube-apiserver looks for its certificate under a fixed name."""
        self.certificate = self.certificates / "apiserver.crt"
        self._serving_key = self.certificates / "apiserver.key"

    def create(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.tokens.exists():
            write(self.tokens, _tokens())
        if not self.signing_key.exists():
            write(self.signing_key, in_pem(private_key()))
        if not (self.certificate.exists() and self._serving_key.exists()):
            self._write_certificate()

    def token(self, user: User) -> str:
        rows = csv.reader(io.StringIO(self.tokens.read_text()))
        return next(token for token, name, *_ in rows if name == user.name)

    def kubeconfig(self, user: User) -> Path:
        return self._folder / f"{user.file}.kubeconfig"

    def write_kubeconfigs(self, server: str) -> None:
        """Write all kubeconfigs for `server`, whose port may have changed."""
        for user in USERS:
            write(self.kubeconfig(user), _kubeconfig(server, self.certificate, user.name, self.token(user)))

    def _write_certificate(self) -> None:
        self.certificates.mkdir(exist_ok=True)
        self._serving_key.unlink(missing_ok=True)  # the certificate never stands beside a foreign key
        key = private_key()
        write(self.certificate, certificate_of(key))
        write(self._serving_key, in_pem(key))


def _tokens() -> str:
    text = io.StringIO()
    rows = csv.writer(text)
    for user in USERS:
        rows.writerow([secrets.token_hex(24), user.name, user.name, ",".join(user.groups)])
    return text.getvalue()


def _kubeconfig(server: str, authority: Path, user: str, token: str) -> str:
    """A kubeconfig in JSON, which YAML parsers read."""
    cluster = {"server": server, "certificate-authority": str(authority.absolute())}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "dev", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "dev", "context": {"cluster": "dev", "user": user}}],
        "current-context": "dev",
    }
    return json.dumps(content, indent=2) + "\n"
