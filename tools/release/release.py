"""Creates all files of a release from a source tree, with SHA256SUMS of all others."""

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import yaml

from release import manifests
from release.attestation import ReleaseError, Signer, bill, provenance, read_lock

LOCK = Path("deploy/image/requirements.lock")
CHECKSUMS = "SHA256SUMS"
"""In the format of `sha256sum --check`."""
KREW = Path("deploy/krew")
PLUGIN = "kubectl-paramedic"
_NO_VERSION = "version=0.0.0\n"
_PLATFORMS = ("linux", "darwin")
_CAVEATS = "The plugin runs the Python command paramedic: have it, uv or pipx in PATH.\n"


@dataclass(frozen=True, kw_only=True)
class Release:
    """The version, the image and the time of a release."""

    version: str
    image: str
    """The name of the image; its tag is the version."""
    time: datetime
    """The time of the commit."""
    commit: str
    """The hash of the commit."""
    download_url: str = ""
    """The address below which the files are published, for the manifest of krew; "": no such manifest."""


def write(release: Release, source: Path, into: Path, signer: Signer | None = None) -> None:
    """Write the files of `release` into the empty folder `into`; `source` is changed.

    With a signer, the provenance and the checksums are signed.

    Raises ReleaseError.
    """
    if (found := version_of(source)) != release.version:
        raise ReleaseError(f"pyproject.toml says version {found}, and the release is to be {release.version}")
    built = build_wheel(source, into, release.time)
    prefix = f"paramedic-{release.version}"
    locked = read_lock((source / LOCK).read_text())
    (into / f"{prefix}.cdx.json").write_text(bill(release.version, _sha256(built), locked, release.time))
    shutil.copyfile(source / LOCK, into / f"{prefix}-requirements.lock")
    manifests.choose_image(source, release.image, release.version)
    script = source / KREW / PLUGIN
    script.write_text(script.read_text().replace(_NO_VERSION, f"version={release.version}\n"))
    manifests.pack(source, into / f"{prefix}-deploy.tar.gz", release.time)
    manifests.pack_chart(source, into / f"{prefix}.tgz", release.time)
    for overlay in manifests.overlays(source):
        (into / f"{prefix}-{overlay.name}.yaml").write_text(manifests.render(overlay))

    # The plugin of kubectl is a script that runs the Python command; krew has a manifest for it.
    archive = into / f"{PLUGIN}-{release.version}.tar.gz"
    files = {PLUGIN: source / KREW / PLUGIN, "LICENSE": source / "LICENSE"}
    manifests.write_archive(archive, files, release.time)
    if release.download_url:
        uri = f"{release.download_url.rstrip('/')}/{archive.name}"
        manifest = _plugin_manifest(release.version, uri, _sha256(archive))
        (into / f"{PLUGIN}-{release.version}.krew.yaml").write_text(manifest)

    # The provenance of all files, and the checksums of all others.
    statement = provenance(
        {file.name: _sha256(file) for file in into.iterdir()},
        version=release.version,
        image=release.image,
        commit=release.commit,
        time=release.time,
    )
    (into / f"{prefix}.provenance.json").write_text(statement)
    if signer is not None:
        (into / f"{prefix}.intoto.jsonl").write_text(signer.envelope(statement))
    sums = "".join(f"{_sha256(file)}  {file.name}\n" for file in sorted(into.iterdir()))
    (into / CHECKSUMS).write_text(sums)
    if signer is not None:
        (into / f"{CHECKSUMS}.sig").write_text(signer.signature(sums.encode()) + "\n")


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def version_of(source: Path) -> str:
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def build_wheel(source: Path, into: Path, time: datetime) -> Path:
    """Build the wheel; its files are dated `time`.

    Raises ReleaseError with the message of the build if it fails.
    """
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(into)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(int(time.timestamp()))}
    built = subprocess.run(  # noqa: S603  a fixed command
        command, cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    if built.returncode != 0:
        raise ReleaseError(f"the wheel cannot be built: {built.stderr.strip()}")
    return into / f"paramedic-{version_of(source)}-py3-none-any.whl"


def _plugin_manifest(version: str, uri: str, sha256: str) -> str:
    """The manifest for krew; `uri` is the address of the archive."""
    files = [{"from": name, "to": "."} for name in (PLUGIN, "LICENSE")]
    platforms = [
        {
            "selector": {"matchLabels": {"os": system}},
            "uri": uri,
            "sha256": sha256,
            "bin": PLUGIN,
            "files": files,
        }
        for system in _PLATFORMS
    ]
    plugin = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "paramedic"},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "See and steer the remediation of nodes and machines",
            "description": "Lists incidents, explains holds, and gives orders to Paramedic.\n",
            "caveats": _CAVEATS,
            "platforms": platforms,
        },
    }
    return yaml.safe_dump(plugin, sort_keys=False)
