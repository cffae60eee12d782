"""Provenance and signatures of a release, verified with openssl as a user would."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from devcluster.manifests import ROOT
from release.attestation import ReleaseError, Signer
from release.release import write
from tests.release.test_release import COMMIT, RELEASE, VERSION, copy

PREFIX = f"paramedic-{VERSION}"


def write_key(folder: Path, key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> Path:
    """The file of a private key; its public key is beside it."""
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "public.pem").write_bytes(public)
    file = folder / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return file


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("signed")
    keys = tmp_path_factory.mktemp("keys")
    signer = Signer(write_key(keys, ec.generate_private_key(ec.SECP256R1())))
    write(RELEASE, copy(tmp_path_factory.mktemp("source")), into, signer)
    shutil.copy(keys / "public.pem", into.parent / "public.pem")
    return into


def verifies(folder: Path, content: bytes, signature: str) -> bool:
    openssl = shutil.which("openssl")
    assert openssl is not None
    (folder / "content").write_bytes(content)
    (folder / "signature").write_bytes(base64.b64decode(signature))
    command = (openssl, "dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "content")
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0  # noqa: S603  ours


def test_openssl_verifies_the_checksums_of_a_signed_release(signed: Path) -> None:
    checksums = (signed / "SHA256SUMS").read_bytes()
    signature = (signed / "SHA256SUMS.sig").read_text()
    assert verifies(signed.parent, checksums, signature)
    assert not verifies(signed.parent, checksums + b" ", signature)


def page_command(beginning: str) -> str:
    """The command of the page about releases that begins so; it is in a code block or in a sentence."""
    page = (ROOT / "docs" / "releasing.md").read_text()
    (found,) = set(re.findall(rf"(?:^|`)({re.escape(beginning)}[^`\n]*)", page, re.MULTILINE))
    return str(found)


def run_in(folder: Path, command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603, S607  of our page


@pytest.fixture
def published(signed: Path, tmp_path: Path) -> Path:
    """The files of the signed release beside the public key, as a user has them."""
    shutil.copytree(signed, tmp_path / "dist")
    shutil.copy(signed.parent / "public.pem", tmp_path / "dist")
    return tmp_path / "dist"


@pytest.mark.parametrize("beginning", ["base64 --decode SHA256SUMS.sig", "sha256sum --check"])
def test_command_of_the_page_verifies_a_release_and_notices_a_changed_checksum(
    published: Path, beginning: str
) -> None:
    command, checksums = page_command(beginning), published / "SHA256SUMS"
    assert run_in(published, command).returncode == 0
    first, rest = checksums.read_text().split(maxsplit=1)
    checksums.write_text(f"{first[::-1]}  {rest}")
    assert run_in(published, command).returncode != 0


def test_key_of_the_command_of_the_page_signs_a_release(tmp_path: Path) -> None:
    made = run_in(tmp_path, page_command("openssl ecparam"))
    (tmp_path / "key.pem").write_text(made.stdout)
    signature = Signer(tmp_path / "key.pem").signature(b"checksums")
    assert run_in(tmp_path, "openssl ec -in key.pem -pubout -out public.pem").returncode == 0
    assert verifies(tmp_path, b"checksums", signature)


def test_provenance_has_the_digest_of_every_other_file_and_the_commit(signed: Path) -> None:
    statement = json.loads((signed / f"{PREFIX}.provenance.json").read_text())
    attestations = {"SHA256SUMS", "SHA256SUMS.sig", f"{PREFIX}.provenance.json", f"{PREFIX}.intoto.jsonl"}
    assert {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]} == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in signed.iterdir()
        if file.name not in attestations
    }
    definition = statement["predicate"]["buildDefinition"]
    assert definition["resolvedDependencies"] == [{"digest": {"gitCommit": COMMIT}}]
    assert definition["externalParameters"] == {"version": VERSION, "image": RELEASE.image}


def test_openssl_verifies_the_envelope_of_the_provenance(signed: Path) -> None:
    envelope = json.loads((signed / f"{PREFIX}.intoto.jsonl").read_text())
    payload = base64.b64decode(envelope["payload"])
    assert payload == (signed / f"{PREFIX}.provenance.json").read_bytes()
    kind = envelope["payloadType"].encode()
    # The pre-authentication encoding of DSSE.
    encoded = b" ".join((b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload))
    (signature,) = envelope["signatures"]
    assert verifies(signed.parent, encoded, signature["sig"])


def test_chart_of_a_release_has_the_files_that_its_links_lead_to(signed: Path) -> None:
    with tarfile.open(signed / f"{PREFIX}.tgz") as packed:
        names = packed.getnames()
        assert all(getmember.isfile() for getmember in packed.getmembers())
    assert names == ["paramedic/Chart.yaml", "paramedic/base/worker.yaml", "paramedic/values.yaml"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        (b"no key", "--sign-key"),
        (ed25519.Ed25519PrivateKey.generate(), "it must be a key for ECDSA"),
    ],
    ids=["no file", "no key", "another algorithm"],
)
def test_key_that_cannot_sign_is_refused(
    tmp_path: Path, content: bytes | ed25519.Ed25519PrivateKey | None, why: str
) -> None:
    file = tmp_path / "key.pem"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        file = write_key(tmp_path, content)
    with pytest.raises(ReleaseError, match=why):
        Signer(file)
