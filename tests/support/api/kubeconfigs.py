"""Kubeconfigs of workload clusters as Cluster API writes them, and the Secrets that they are in."""

import json
import ssl
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from objects.clusters import SecretField
from tests.support.api.tls import write_pair

EAST = "fleet/east"
SECRET = SecretField("fleet", "east-kubeconfig", "value")
SECRET_PATH = "/api/v1/namespaces/fleet/secrets/east-kubeconfig"
TOKEN = "token-that-nobody-may-see"


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def kubeconfig(server: str = "https://east.example:6443", **user: str) -> dict[str, Any]:
    """One with a token, or what is said of the user."""
    names = {"cluster": "east", "user": "east-admin"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "east-admin@east",
        "contexts": [{"name": "east-admin@east", "context": names}],
        "clusters": [{"name": "east", "cluster": {"server": server}}],
        "users": [{"name": "east-admin", "user": user or {"token": TOKEN}}],
    }


def secret_of(content: object) -> dict[str, Any]:
    """The Secret with that kubeconfig, a document or text."""
    text = content if isinstance(content, str) else json.dumps(content)
    return {
        "metadata": {"name": SECRET.name, "namespace": SECRET.namespace},
        "data": {SECRET.key: encoded(text)},
    }


@dataclass(frozen=True)
class Pair:
    """A self-signed certificate and its key, as files and as text."""

    directory: Path
    certificate: str

    @classmethod
    def make(cls, directory: Path, name: str) -> "Pair":
        return cls(directory, write_pair(directory, name))

    @property
    def key(self) -> str:
        return (self.directory / "tls.key").read_text()

    @property
    def user(self) -> dict[str, str]:
        """Its owner, as a user of a kubeconfig."""
        return {
            "client-certificate-data": encoded(self.certificate),
            "client-key-data": encoded(self.key),
        }

    def serving(self, *clients: "Pair") -> ssl.SSLContext:
        """As kube-apiserver serves: clients may show a certificate of these."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.directory / "tls.crt", self.directory / "tls.key")
        for client in clients:
            context.load_verify_locations(cadata=client.certificate)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context
