"""The provenance of a release in the format of SLSA v1, and signatures with a key of the publisher.

The formats are those of in-toto statements (https://in-toto.io/Statement/v1) and DSSE envelopes, and a
signature of a file is what `cosign sign-blob --key` writes: ECDSA with SHA-256, in base64.
"""

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from release.errors import ReleaseError

BUILD_TYPE = "https://paramedic.dev/release/v1"
BUILDER = "https://paramedic.dev/release/make"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def provenance(digests: Mapping[str, str], *, version: str, image: str, commit: str, time: datetime) -> str:
    """A statement that these files, with their SHA-256, were built from a commit."""
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digests[name]}} for name in sorted(digests)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"version": version, "image": image},
                "resolvedDependencies": [{"digest": {"gitCommit": commit}}],
            },
            "runDetails": {
                "builder": {"id": BUILDER},
                "metadata": {"startedOn": time.strftime("%Y-%m-%dT%H:%M:%SZ")},
            },
        },
    }
    return json.dumps(statement, indent=2, sort_keys=True) + "\n"


class Signer:
    """Signs with the private key of a file."""

    def __init__(self, key: Path) -> None:
        """Raise ReleaseError unless the file has an unencrypted key for ECDSA in PEM."""
        try:
            found = load_pem_private_key(key.read_bytes(), password=None)
        except (OSError, TypeError, ValueError, UnsupportedAlgorithm) as error:
            raise ReleaseError(f"--sign-key {key}: {error}") from error
        if not isinstance(found, ec.EllipticCurvePrivateKey):
            raise ReleaseError(f"--sign-key {key}: it must be a key for ECDSA, such as of P-256")
        self._key = found

    def signature(self, content: bytes) -> str:
        return base64.b64encode(self._key.sign(content, ec.ECDSA(SHA256()))).decode()

    def envelope(self, statement: str) -> str:
        """The statement in a DSSE envelope, one line."""
        payload = statement.encode()
        kind = PAYLOAD_TYPE.encode()
        encoding = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
        envelope = {
            "payloadType": PAYLOAD_TYPE,
            "payload": base64.b64encode(payload).decode(),
            "signatures": [{"sig": self.signature(encoding)}],
        }
        return json.dumps(envelope) + "\n"
