"""Who may talk to the control plane: one token and one kubeconfig per user, kept over restarts.

The detector and the worker come as the ServiceAccounts that `deploy/base/rbac` gives its rights to, so that
a missing right shows here and not in production.
"""

import csv
import io
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from devcluster.files import write

NAMESPACE = "paramedic-system"


@dataclass(frozen=True)
class User:
    """A name in RBAC, its groups, and the name of its kubeconfig."""

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
        """kube-apiserver makes its own certificate here when it starts for the first time."""

    def create(self) -> None:
        """Make what is not there yet."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.tokens.exists():
            write(self.tokens, _tokens())
        if not self.signing_key.exists():
            write(self.signing_key, _private_key())

    def token(self, user: User) -> str:
        """The bearer token of `user`."""
        rows = csv.reader(io.StringIO(self.tokens.read_text()))
        return next(token for token, name, *_ in rows if name == user.name)

    def kubeconfig(self, user: User) -> Path:
        """Where the kubeconfig of `user` is."""
        return self._folder / f"{user.file}.kubeconfig"

    def write_kubeconfigs(self, server: str) -> None:
        """Let every user find `server`, whose port may have changed."""
        for user in USERS:
            content = _kubeconfig(server, self.certificates / "apiserver.crt", user.name, self.token(user))
            write(self.kubeconfig(user), content)


def _tokens() -> str:
    text = io.StringIO()
    rows = csv.writer(text)
    for user in USERS:
        rows.writerow([secrets.token_hex(24), user.name, user.name, ",".join(user.groups)])
    return text.getvalue()


def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


def _kubeconfig(server: str, authority: Path, user: str, token: str) -> str:
    """JSON, which every reader of YAML reads."""
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
