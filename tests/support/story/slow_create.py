"""An admission webhook that delays the creation of an object until the test lets it go.

So a create is really in flight: sent by the worker, received by the API server, not stored yet.
"""

import asyncio
import base64
import ssl
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from devcluster.polling import until
from kube.client import Client
from kube.errors import KubernetesError
from kube.resource import Object, Resource
from tests.support.api.ports import free_port
from tests.support.story.world import REQUESTS

WEBHOOKS = Resource(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)


PATIENCE = timedelta(seconds=60)


class SlowCreate:
    """The requests that the webhook has received, and the gate at which they wait."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.probe = f"probe-{uuid.uuid4().hex[:8]}"
        """A name that is refused: that shows that the API server asks."""
        self._gate = asyncio.Event()

    async def until_in_flight(self) -> None:
        """Wait until a create waits at the gate."""

        async def has_come() -> bool:
            return bool(self.names)

        await until(has_come, within=PATIENCE, otherwise="no create came")

    def let_go(self) -> None:
        """Let all creates pass, later ones too."""
        self._gate.set()

    async def review(self, request: web.Request) -> web.Response:
        """Answer an AdmissionReview when the gate is open."""
        review = await request.json()
        name = review["request"]["object"]["metadata"]["name"]
        if name != self.probe:
            self.names.append(name)
            await self._gate.wait()
        review["response"] = {"uid": review.pop("request")["uid"], "allowed": name != self.probe}
        return web.json_response(review)

    async def until_asked(self, client: Client, of: Resource) -> None:
        """Wait until the API server calls the webhook: it learns of a new webhook with a delay."""
        body = {"apiVersion": of.api_version, "kind": of.kind, "metadata": {"name": self.probe}, "spec": {}}

        async def is_asked() -> bool:
            try:
                await client.create(of, body, "default")
            except KubernetesError:
                return True
            await client.delete(of, self.probe, "default")
            return False

        await until(is_asked, within=PATIENCE, otherwise="the API server does not call the webhook")


@asynccontextmanager
async def slow_create(
    client: Client, name: str, directory: Path, of: Resource = REQUESTS
) -> AsyncIterator[SlowCreate]:
    """Delay creates of `of` objects named `name` for the duration of the block."""
    slow = SlowCreate()
    certificate = _certificate(directory)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, directory / "key.pem")
    application = web.Application()
    application.add_routes([web.post("/", slow.review)])
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
    configuration = _configuration(of, (name, slow.probe), port, certificate.read_bytes())
    await client.create(WEBHOOKS, configuration)
    try:
        await slow.until_asked(client, of)
        yield slow
    finally:
        slow.let_go()
        await client.delete(WEBHOOKS, configuration["metadata"]["name"])
        await runner.cleanup()


def _configuration(of: Resource, names: tuple[str, ...], port: int, certificate: bytes) -> Object:
    group, _, version = of.api_version.partition("/")
    rule = {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": ["CREATE"],
        "resources": [of.plural],
    }
    webhook = {
        "name": f"{of.plural}.slow-create.test",
        "clientConfig": {
            "url": f"https://127.0.0.1:{port}/",
            "caBundle": base64.b64encode(certificate).decode(),
        },
        "rules": [rule],
        "matchConditions": [{"name": "name", "expression": f"object.metadata.name in {list(names)}"}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 30,
        "failurePolicy": "Fail",
    }
    return {
        "apiVersion": WEBHOOKS.api_version,
        "kind": WEBHOOKS.kind,
        "metadata": {"name": f"slow-{of.plural}.test"},
        "webhooks": [webhook],
    }


def _certificate(directory: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in key.pem beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "slow-create")])
    now = datetime.now(UTC)
    loopback = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(loopback, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (directory / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    path = directory / "certificate.pem"
    path.write_bytes(certificate.public_bytes(pem))
    return path
