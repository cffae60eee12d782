"""The bill of materials of a release, its provenance, and signatures with a key of the publisher.

The bill has the format of CycloneDX, with the wheel and the dependencies in the lock file of the image, which
is read in the format of `uv pip compile`: each dependency, and those that need it. The bill depends on
neither time nor machine, so a commit always gives the same bytes.

The provenance has the format of SLSA v1, as an in-toto statement (https://in-toto.io/Statement/v1) in a DSSE
envelope. A signature of a file is what `cosign sign-blob --key` writes: ECDSA with SHA-256, in base64.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

PROJECT = "paramedic"
_PINNED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)")
_ASKED = re.compile(r" +# +(?:via +)?(?P<name>[a-z0-9-]+)(?: \(pyproject\.toml\))?$")


class ReleaseError(Exception):
    """The release cannot be created; the message is one sentence."""


@dataclass(frozen=True)
class Locked:
    """A dependency, and the names of those that need it."""

    name: str
    version: str
    needed_by: frozenset[str]


def read_lock(text: str) -> tuple[Locked, ...]:
    """The dependencies in the lock file, in its order."""
    found = []
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text):
        if pinned := _PINNED.match(entry):
            asking = frozenset(asked["name"] for line in entry.splitlines() if (asked := _ASKED.match(line)))
            found.append(Locked(pinned["name"], pinned["version"], asking - {"via"}))
    return tuple(found)


def bill(version: str, wheel_sha256: str, locked: Sequence[Locked], time: datetime) -> str:
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=wheel_sha256)]
    project = _component(PROJECT, version, ComponentType.APPLICATION, hashes)
    libraries = {
        library.name: _component(library.name, library.version, ComponentType.LIBRARY) for library in locked
    }
    bom = Bom(
        components=libraries.values(),
        serial_number=uuid5(NAMESPACE_URL, f"{project.purl}#sha256={wheel_sha256}"),
        metadata=BomMetaData(component=project, timestamp=time),
    )
    for name, component in {PROJECT: project, **libraries}.items():
        needed = [libraries[library.name] for library in locked if name in library.needed_by]
        bom.register_dependency(component, needed)
    return f"{JsonV1Dot6(bom).output_as_string(indent=2)}\n"


def _component(name: str, version: str, kind: ComponentType, hashes: Iterable[HashType] = ()) -> Component:
    url = PackageURL("pypi", name=name, version=version)
    return Component(name=name, version=version, type=kind, purl=url, bom_ref=url.to_string(), hashes=hashes)


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
